import { afterAll, describe, expect, it } from 'vitest';
import { asking, post, refusalOf } from '../fixtures/gateway/call.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';

/** The fields that are looked at (interface, 1.2), asked of a listening gateway. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const BASE = asking('opal-medium');
const MISSING = Symbol('missing');
const tool = (more: object) => [{ name: 'weather', input_schema: {}, ...more }];
const message = (more: object) => [{ role: 'user', content: 'hello', ...more }];

/** Field, a value that it must not have, and what the message says of it after the path. */
type Wrong = readonly [field: string, value: unknown, fault: string];

const every = (field: string, path: string, values: readonly unknown[], fault: string | RegExp): Wrong[] =>
  values.map((value) => [field, value, `${path}: ${fault}`]);

const CONTENT_FAULT = 'expected a string or an array of block objects';

const CONVERSATION: readonly Wrong[] = [
  ...every('model', 'model', [MISSING], 'required, expected a string'),
  ...every('model', 'model', [null, 1, true, {}, ['opal-medium'], { length: { toString: 1 } }], 'expected a string'),
  ...every('model', 'model', [''], 'must not be empty'),
  ...every('messages', 'messages', [MISSING], 'required, expected an array'),
  ...every('messages', 'messages', [null, 'hello', 1, true, {}], 'expected an array'),
  ...every('messages', 'messages.0', [[null], ['hello'], [1], [[]]], 'expected an object'),
  ...every('messages', 'messages.0.role', [[{ content: 'x' }]], 'expected one of "user", "assistant", "system"'),
  ...every(
    'messages',
    'messages.0.role',
    [null, 1, {}, '', 'developer', 'User'].map((role) => message({ role })),
    'expected one of "user", "assistant", "system"',
  ),
  ...every('messages', 'messages.0.content', [[{ role: 'user' }]], CONTENT_FAULT),
  ...every(
    'messages',
    'messages.0.content',
    [null, 1, true, {}].map((content) => message({ content })),
    CONTENT_FAULT,
  ),
  ...every(
    'messages',
    'messages.0.content.0',
    [null, 'x', 1, []].map((block) => message({ content: [block] })),
    'expected an object',
  ),
  ...every('messages', 'messages.0.content.0.type', [message({ content: [{}] })], 'required, expected a string'),
  ...every('messages', 'messages.0.content.0.type', [message({ content: [{ type: 1 }] })], 'expected a string'),
  ...every('messages', 'messages.1.role', [[...message({}), { role: 'tool', content: 'x' }]], 'expected one of'),
  ...every('system', 'system', [1, true, {}], CONTENT_FAULT),
  ...every('system', 'system.0', [['x'], [null]], 'expected an object'),
  ...every('system', 'system.0.type', [[{ text: 'x' }]], 'required, expected a string'),
  ...every('tools', 'tools', ['weather', 1, true, {}], 'expected an array'),
  ...every('tools', 'tools.0', [[null], ['x'], [1]], 'expected an object'),
  ...every('tools', 'tools.0.name', [[{ input_schema: {} }]], 'required, expected a string'),
  ...every('tools', 'tools.0.name', [tool({ name: 1 }), tool({ name: null })], 'expected a string'),
  ...every('tools', 'tools.0.description', [tool({ description: 1 }), tool({ description: {} })], 'expected a string'),
  ...every('tools', 'tools.0.input_schema', [[{ name: 'weather' }]], 'required, expected an object'),
  ...every(
    'tools',
    'tools.0.input_schema',
    [null, 'x', 1, true, []].map((schema) => tool({ input_schema: schema })),
    'expected an object',
  ),
  ...every(
    'tools',
    'tools.0.cache_control',
    ['ephemeral', 1, true, []].map((control) => tool({ cache_control: control })),
    'expected an object',
  ),
  ...every('tools', 'tools.1.name', [[...tool({}), { input_schema: {} }]], 'required, expected a string'),
];

const GENERATION: readonly Wrong[] = [
  ...every('max_tokens', 'max_tokens', [MISSING], 'required, expected a number'),
  ...every('max_tokens', 'max_tokens', [null, '100', true, {}, []], 'expected a number'),
  ...every('max_tokens', 'max_tokens', [1.5, 0.1], 'expected a whole number'),
  ...every('max_tokens', 'max_tokens', [0, -1], 'must be at least 1'),
  ...every('max_tokens', 'max_tokens', [2 ** 53, 1e300], 'must be at most 9007199254740991'),
  ...every('stream', 'stream', ['true', 1, {}, []], 'expected a boolean'),
  ...every('temperature', 'temperature', ['1', true, {}, []], 'expected a number'),
  ...every('temperature', 'temperature', [-0.01, -1], 'must be at least 0'),
  ...every('temperature', 'temperature', [1.01, 2], 'must be at most 1'),
  ...every('stop_sequences', 'stop_sequences', ['x', 1, true, {}], 'expected an array'),
  ...every(
    'stop_sequences',
    'stop_sequences.1',
    [
      ['x', 1],
      ['x', null],
    ],
    'expected a string',
  ),
  ...every('tool_choice', 'tool_choice', ['auto', 1, true, []], 'expected an object'),
  ...every('speed', 'speed', ['', 'slow', 'Fast', 1, true, {}], 'expected one of "standard", "fast"'),
  ...every('metadata', 'metadata', ['x', 1, true, []], 'expected an object'),
];

const show = ([field, value, fault]: Wrong) =>
  ({ title: value === MISSING ? `no ${field}` : JSON.stringify({ [field]: value }), field, value, fault }) as const;

function withField(base: object, field: string, value: unknown): object {
  const { [field]: _left, ...others } = base as Record<string, unknown>;
  return value === MISSING ? others : { ...others, [field]: value };
}

describe.each([
  ['/v1/messages', BASE, [...CONVERSATION, ...GENERATION]],
  ['/v1/messages/count_tokens', { model: BASE.model, messages: BASE.messages }, CONVERSATION],
] as const)('POST %s', (path, base, wrongs) => {
  it.each(wrongs.map(show))('refuses $title, naming the field', async ({ field, value, fault }) => {
    const sent = upstream.requests.length;
    const message = refusalOf(await post(gateway, path, withField(base, field, value)), 400);
    expect(message).toContain(fault);
    expect(upstream.requests.length).toBe(sent);
  });
});

const OPTIONAL = {
  '/v1/messages': [
    'system',
    'stream',
    'temperature',
    'stop_sequences',
    'tools',
    'tool_choice',
    'speed',
    'metadata',
    'thread',
  ],
  '/v1/messages/count_tokens': ['system', 'tools'],
} as const;

const PASSING: readonly (readonly [title: string, more: object])[] = [
  ['the smallest max_tokens', { max_tokens: 1 }],
  ['a temperature of 0', { temperature: 0 }],
  ['a temperature of 1', { temperature: 1 }],
  ['both speeds', { speed: 'standard' }],
  ['empty lists', { stop_sequences: [], tools: [], system: [] }],
  ['no messages at all, which a continued thread may have', { messages: [] }],
  ['fields that nobody knows', { top_k: 5, thinking: { type: 'enabled' }, whatever: [{ comes: 'next' }] }],
  ['metadata of any content', { metadata: { user_id: null, else: [1] } }],
  ['a tool_choice of any content', { tool_choice: { type: 'auto', more: 1 } }],
  [
    'block kinds that nobody knows',
    { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }, { type: 'next_kind' }] }] },
  ],
  [
    'blocks of text, images, tools and their results',
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'weather', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'sunny' }] },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } },
          ],
        },
      ],
    },
  ],
  ['a system of text blocks', { system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
  ['a tool with everything', { tools: tool({ type: 'custom', description: 'x', cache_control: {}, strict: true }) }],
  ['a tool with nulls', { tools: tool({ type: null, description: null, cache_control: null }) }],
  ["a tool of the upstream's own, without a schema", { tools: [{ type: 'web_fetch_20990101', name: 'fetch' }] }],
  ['fields of a message that nobody knows', { messages: message({ name: 'x' }) }],
];

describe('POST /v1/messages', () => {
  it.each(PASSING)('takes %s and forwards the bytes as they are', async (_title, more) => {
    const body = Buffer.from(JSON.stringify({ ...BASE, ...more }, null, 1));
    const seen = upstream.seen(upstream.requests.length);
    expect((await post(gateway, '/v1/messages', body)).status).toBe(200);
    expect((await seen).body.equals(body)).toBe(true);
  });

  it.each(['true', 'FAST', '', 'fast, fast'])('refuses x-svc-speed: %j', async (speed) => {
    const message = refusalOf(await post(gateway, '/v1/messages', BASE, { 'x-svc-speed': speed }), 400);
    expect(message).toBe('x-svc-speed: expected one of "standard", "fast"');
  });

  it.each(['standard', 'fast'])('takes x-svc-speed: %s', async (speed) => {
    expect((await post(gateway, '/v1/messages', BASE, { 'x-svc-speed': speed })).status).toBe(200);
  });

  it('names at most five faults and says that there are more', async () => {
    const messages = Array.from({ length: 8 }, () => ({ role: 'user', content: 1 }));
    const message = refusalOf(await post(gateway, '/v1/messages', { ...BASE, messages }), 400);
    expect(message).toMatch(/^messages\.0\.content: .*; messages\.4\.content: .*; and more$/);
    expect(message).not.toContain('messages.5');
  });

  it('never says the wrong value back', async () => {
    const secret = 'do-not-repeat-this';
    const faults = {
      model: [secret],
      speed: secret,
      system: { [secret]: 1 },
      messages: [{ role: secret, content: 1 }],
    };
    const answered = await post(gateway, '/v1/messages', { ...BASE, ...faults });
    refusalOf(answered, 400);
    expect(answered.text).not.toContain(secret);
  });
});

describe.each(['/v1/messages', '/v1/messages/count_tokens'] as const)('POST %s', (path) => {
  it.each(OPTIONAL[path])('takes null for %s', async (field) => {
    expect((await post(gateway, path, { ...BASE, [field]: null })).status).toBe(200);
  });
});
