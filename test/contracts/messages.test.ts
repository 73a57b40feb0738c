import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';
import {
  countTokensAnswerSchema,
  countTokensRequestSchema,
  messageRequestSchema,
  messageSchema,
} from '../../contracts/messages.ts';

const message = { role: 'user', content: 'Hi' };
const request = { model: 'svc-mock', max_tokens: 16, messages: [message] };
const weather = { name: 'weather', input_schema: { type: 'object' } };
const withTool = (tool: unknown) => ({ ...request, tools: [weather, tool] });
const withMessage = (second: unknown) => ({ ...request, messages: [message, second] });

function faultsOf(schema: z.ZodType, body: unknown): string[] {
  const result = schema.safeParse(body, { reportInput: true });
  return result.success ? [] : fieldFaults(result.error).map(describeFault);
}
const messageFaults = (body: unknown): string[] => faultsOf(messageRequestSchema, body);
const without = (field: keyof typeof request): object =>
  Object.fromEntries(Object.entries(request).filter(([name]) => name !== field));

describe('a message request', () => {
  test('passes with no more than the required fields', () => {
    expect(messageFaults(request)).toEqual([]);
  });

  test.each([
    ['model', 'model: required, expected a string'],
    ['max_tokens', 'max_tokens: required, expected a number'],
    ['messages', 'messages: required, expected an array'],
  ] as const)('without %s is told so', (field, fault) => {
    expect(messageFaults(without(field))).toEqual([fault]);
  });

  test.each([
    [{ model: 7 }, 'model: expected a string'],
    [{ model: null }, 'model: expected a string'],
    [{ model: '' }, 'model: must not be empty'],
    [{ max_tokens: '16' }, 'max_tokens: expected a number'],
    [{ max_tokens: null }, 'max_tokens: expected a number'],
    [{ max_tokens: 1.5 }, 'max_tokens: expected a whole number'],
    [{ max_tokens: 0 }, 'max_tokens: must be at least 1'],
    [{ max_tokens: -1 }, 'max_tokens: must be at least 1'],
    [{ messages: {} }, 'messages: expected an array'],
    [{ messages: null }, 'messages: expected an array'],
    [{ system: 7 }, 'system: expected a string or an array of block objects'],
    [{ system: {} }, 'system: expected a string or an array of block objects'],
    [{ system: [{ type: 'text' }, { text: 'x' }] }, 'system.1.type: required, expected a string'],
    [{ stream: 'true' }, 'stream: expected a boolean'],
    [{ stream: 1 }, 'stream: expected a boolean'],
    [{ temperature: '1' }, 'temperature: expected a number'],
    [{ temperature: -0.01 }, 'temperature: must be at least 0'],
    [{ temperature: 1.01 }, 'temperature: must be at most 1'],
    [{ stop_sequences: 'END' }, 'stop_sequences: expected an array'],
    [{ stop_sequences: ['END', 7] }, 'stop_sequences.1: expected a string'],
    [{ tools: {} }, 'tools: expected an array'],
    [{ tool_choice: 'auto' }, 'tool_choice: expected an object'],
    [{ tool_choice: [] }, 'tool_choice: expected an object'],
    [{ speed: 'faster' }, 'speed: expected one of "standard", "fast"'],
    [{ speed: true }, 'speed: expected one of "standard", "fast"'],
    [{ metadata: 'me' }, 'metadata: expected an object'],
    [{ metadata: [] }, 'metadata: expected an object'],
  ])('with %j is told the exact path', (change, fault) => {
    expect(messageFaults({ ...request, ...change })).toEqual([fault]);
  });

  test.each([
    { max_tokens: 1 },
    { max_tokens: 1_000_000 },
    { messages: [] },
    { system: '' },
    { system: [] },
    { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
    { stream: false },
    { temperature: 0 },
    { temperature: 1 },
    { stop_sequences: [] },
    { tools: [] },
    { tool_choice: { type: 'auto' } },
    { speed: 'standard' },
    { speed: 'fast' },
    { metadata: { user_id: 'u' } },
  ])('passes with %j', (change) => {
    expect(messageFaults({ ...request, ...change })).toEqual([]);
  });

  test.each(['system', 'stream', 'temperature', 'stop_sequences', 'tools', 'tool_choice', 'speed', 'metadata'])(
    'passes with null for the optional field %s',
    (field) => {
      expect(messageFaults({ ...request, [field]: null })).toEqual([]);
    },
  );

  test('passes unknown fields on, at every level', () => {
    const body = {
      ...request,
      thinking: { type: 'enabled', budget_tokens: 5 },
      service_tier: 'auto',
      messages: [{ ...message, note: 1 }],
      tools: [{ ...weather, strict: true }],
      tool_choice: { type: 'tool', name: 'weather', later: [] },
    };
    expect(messageRequestSchema.parse(body)).toEqual(body);
  });

  test('tells all faults together', () => {
    expect(messageFaults({ max_tokens: 0, messages: [{ role: 'tool' }], stream: 'no' })).toEqual([
      'model: required, expected a string',
      'messages.0.role: expected one of "user", "assistant", "system"',
      'messages.0.content: expected a string or an array of block objects',
      'max_tokens: must be at least 1',
      'stream: expected a boolean',
    ]);
  });

  test.each([null, [], 'text', 7])('is an object, not %j', (body) => {
    expect(messageFaults(body)).toEqual(['expected an object']);
  });
});

describe('a message in it', () => {
  test.each([
    [{ content: 'x' }, 'messages.1.role: expected one of "user", "assistant", "system"'],
    [{ role: 'tool', content: 'x' }, 'messages.1.role: expected one of "user", "assistant", "system"'],
    [{ role: 7, content: 'x' }, 'messages.1.role: expected one of "user", "assistant", "system"'],
    [{ role: 'user' }, 'messages.1.content: expected a string or an array of block objects'],
    [{ role: 'user', content: null }, 'messages.1.content: expected a string or an array of block objects'],
    [{ role: 'user', content: 7 }, 'messages.1.content: expected a string or an array of block objects'],
    [{ role: 'user', content: {} }, 'messages.1.content: expected a string or an array of block objects'],
    [{ role: 'user', content: ['x'] }, 'messages.1.content.0: expected an object'],
    [
      { role: 'user', content: [{ type: 'text' }, { text: 'x' }] },
      'messages.1.content.1.type: required, expected a string',
    ],
    [{ role: 'user', content: [{ type: 7 }] }, 'messages.1.content.0.type: expected a string'],
    ['x', 'messages.1: expected an object'],
    [null, 'messages.1: expected an object'],
  ])('%j is told the exact path', (second, fault) => {
    expect(messageFaults(withMessage(second))).toEqual([fault]);
  });

  test.each(['text', 'image', 'tool_use', 'tool_result', 'document', 'thinking', 'a_kind_to_come'])(
    'passes a block of kind %s with whatever is in it',
    (type) => {
      const second = {
        role: 'assistant',
        content: [{ type, cache_control: { type: 'ephemeral', ttl: '1h' }, x: [1] }],
      };
      expect(messageRequestSchema.parse(withMessage(second)).messages[1]).toEqual(second);
    },
  );
});

describe('a tool in it', () => {
  test.each([
    [{ input_schema: {} }, 'tools.1.name: required, expected a string'],
    [{ name: 7, input_schema: {} }, 'tools.1.name: expected a string'],
    [{ name: 'x' }, 'tools.1.input_schema: required, expected an object'],
    [{ name: 'x', input_schema: null }, 'tools.1.input_schema: expected an object'],
    [{ name: 'x', input_schema: 'object' }, 'tools.1.input_schema: expected an object'],
    [{ name: 'x', input_schema: {}, description: 7 }, 'tools.1.description: expected a string'],
    [{ name: 'x', input_schema: {}, cache_control: 'on' }, 'tools.1.cache_control: expected an object'],
    [{ type: 'custom', name: 'x' }, 'tools.1.input_schema: required, expected an object'],
    ['x', 'tools.1: expected an object'],
    [null, 'tools.1: expected an object'],
  ])('%j is told the exact path', (tool, fault) => {
    expect(messageFaults(withTool(tool))).toEqual([fault]);
  });

  test.each([
    { name: 'x', input_schema: {}, description: null, cache_control: null },
    { type: null, name: 'x', input_schema: {} },
    { type: 'custom', name: 'x', input_schema: {} },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    { type: 'computer_20250124' },
  ])('passes %j', (tool) => {
    expect(messageFaults(withTool(tool))).toEqual([]);
  });
});

test.each([
  ['messages', { messages: Array.from({ length: 150_000 }, () => 1) }],
  ['blocks', { messages: [{ role: 'user', content: Array.from({ length: 150_000 }, () => 1) }] }],
  ['tools', { tools: Array.from({ length: 150_000 }, () => 1) }],
  ['stop sequences', { stop_sequences: Array.from({ length: 150_000 }, () => 1) }],
])('many faults of %s are not all looked for', (_name, wrong) => {
  const { error } = messageRequestSchema.safeParse({ ...request, ...wrong }, { reportInput: true });
  // Those of a union's branches stand inside of an issue.
  expect(JSON.stringify(error?.issues).match(/"path"/g)?.length).toBeLessThan(10);
});

describe('a request to count', () => {
  const body = { model: 'svc-mock', messages: [message] };

  test('passes without max_tokens, with null for what is optional, and with unknown fields', () => {
    expect(faultsOf(countTokensRequestSchema, body)).toEqual([]);
    expect(faultsOf(countTokensRequestSchema, { ...body, system: null, tools: null, thinking: {} })).toEqual([]);
    expect(faultsOf(countTokensRequestSchema, { ...body, system: 'x', tools: [weather] })).toEqual([]);
  });

  test.each([
    [{ messages: [message] }, 'model: required, expected a string'],
    [{ model: 'm' }, 'messages: required, expected an array'],
    [{ ...body, model: 7 }, 'model: expected a string'],
    [{ ...body, messages: 'x' }, 'messages: expected an array'],
    [{ ...body, messages: [{ content: 'x' }] }, 'messages.0.role: expected one of "user", "assistant", "system"'],
    [{ ...body, system: 7 }, 'system: expected a string or an array of block objects'],
    [{ ...body, tools: 'x' }, 'tools: expected an array'],
    [{ ...body, tools: [{}] }, 'tools.0.name: required, expected a string'],
  ])('%j is told the exact path', (wrong, fault) => {
    expect(faultsOf(countTokensRequestSchema, wrong)[0]).toBe(fault);
  });

  test.each([{ input_tokens: 0 }, { input_tokens: 12, more: 1 }])('is answered with %j', (answer) => {
    expect(faultsOf(countTokensAnswerSchema, answer)).toEqual([]);
  });

  test.each([{}, { input_tokens: '1' }, { input_tokens: -1 }, { input_tokens: 1.5 }])(
    'is not answered with %j',
    (bad) => {
      expect(faultsOf(countTokensAnswerSchema, bad)).toHaveLength(1);
    },
  );
});

describe('an answer', () => {
  const answer = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 2 },
  };

  test('passes with the fields that every answer has', () => {
    expect(messageSchema.parse(answer)).toEqual(answer);
  });

  test.each(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'])('ends with %s', (stop_reason) => {
    expect(faultsOf(messageSchema, { ...answer, stop_reason })).toEqual([]);
  });

  test.each([
    [{ id: 7 }, 'id: expected a string'],
    [{ type: 'error' }, 'type: expected "message"'],
    [{ role: 'user' }, 'role: expected "assistant"'],
    [{ content: 'Hi' }, 'content: expected an array'],
    [{ stop_sequence: 7 }, 'stop_sequence: expected a string'],
    [{ usage: { input_tokens: 1 } }, 'usage.output_tokens: required, expected a number'],
    [{ usage: { input_tokens: -1, output_tokens: 1 } }, 'usage.input_tokens: must be at least 0'],
    [
      { usage: { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: '7' } },
      'usage.cache_read_input_tokens: expected a number',
    ],
    [{ usage: { input_tokens: 1, output_tokens: 1, service_tier: 7 } }, 'usage.service_tier: expected a string'],
  ])('with %j is told the exact path', (change, fault) => {
    expect(faultsOf(messageSchema, { ...answer, ...change })).toEqual([fault]);
  });
});
