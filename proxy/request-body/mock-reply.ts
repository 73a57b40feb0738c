import { createHash } from 'node:crypto';
import { isObject } from '../../contracts/json-object.ts';
import type { Message } from '../../contracts/messages.ts';

/** The same for the same request, long enough to stream; with tools a call, after its result text: loops end. */
interface MockRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly stream?: boolean | null | undefined;
  readonly speed?: string | null | undefined;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly unknown[] | null | undefined;
  readonly tool_choice?: { readonly type?: unknown; readonly name?: unknown } | null | undefined;
}

const WORDS =
  'This is the canned reply of the mock model. It is the same for the same request, it streams word by word, and it ' +
  'costs what the catalog says. Every token of it is metered, settled and written to the ledger.';

/** One token is four bytes, for a mock. */
export const mockTokens = (bytes: number): number => Math.max(1, Math.ceil(bytes / 4));

export interface MockAnswer {
  readonly message: Message;
  readonly isStream: boolean;
}

/** The reply to a body that is a request, and whether it is asked for as a stream. */
export function mockMessage(body: Buffer): MockAnswer {
  const request: MockRequest = JSON.parse(body.toString('utf8'));
  return { message: mockReply(request, body), isStream: request.stream === true };
}

function mockReply(request: MockRequest, body: Buffer): Message {
  const digest = createHash('sha256').update(body).digest('hex');
  const tool = toolToCall(request);
  const words = WORDS.split(/(?<= )/).slice(0, request.max_tokens);
  const text = words.join('').trimEnd();
  const isCut = tool === null && words.length === request.max_tokens && text.length < WORDS.length;
  const content: Message['content'] =
    tool === null
      ? [{ type: 'text', text }]
      : [
          {
            type: 'tool_use',
            id: `toolu_mock_${digest.slice(0, 16)}`,
            name: tool.name,
            input: shortSampleOf(tool.input_schema),
          },
        ];
  return {
    id: `msg_mock_${digest.slice(0, 24)}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: tool !== null ? 'tool_use' : isCut ? 'max_tokens' : 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: mockTokens(body.length),
      output_tokens: tool === null ? words.length : Math.min(request.max_tokens, 16),
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 0,
      ...(request.speed === 'fast' ? { service_tier: 'priority' } : {}),
    },
  };
}

interface MockTool {
  readonly name: string;
  readonly input_schema: unknown;
}

function toolToCall({ tools, tool_choice: choice, messages }: MockRequest): MockTool | null {
  const offered = (tools ?? []).filter(isClientTool);
  if (offered.length === 0 || choice?.type === 'none') return null;
  if (choice?.type === 'tool') return offered.find((tool) => tool.name === choice.name) ?? null;
  return hasToolResult(messages.at(-1)?.content) ? null : (offered[0] ?? null);
}

const isClientTool = (tool: unknown): tool is MockTool =>
  tool !== null &&
  typeof tool === 'object' &&
  'name' in tool &&
  typeof tool.name === 'string' &&
  tool.name.length <= WORD_CHARS_MAX &&
  'input_schema' in tool;

const hasToolResult = (content: unknown): boolean =>
  Array.isArray(content) && content.some((block) => block?.type === 'tool_result');

/** A name that a model calls, and a word that it says: an answer of a request's own length is none. */
const WORD_CHARS_MAX = 128;
const SAMPLE_CHARS_MAX = 4_096;
const SAMPLE_DEPTH_MAX = 8;
const SAMPLE_VALUES_MAX = 64;

function shortSampleOf(schema: unknown): unknown {
  const sample = new Sample().of(schema, 0);
  return JSON.stringify(sample).length <= SAMPLE_CHARS_MAX ? sample : {};
}

/** An input that a JSON schema accepts, as far as its types tell. What is no schema, and what is too much, is null. */
class Sample {
  #values = 0;

  of(schema: unknown, depth: number): unknown {
    if (!isObject(schema) || depth > SAMPLE_DEPTH_MAX || this.#isFull) return null;
    this.#values++;
    const { type, properties, enum: values, items } = schema;
    if (Array.isArray(values) && values.length > 0) return shortOrNull(values[0]);
    switch (Array.isArray(type) ? type[0] : type) {
      case 'string':
        return 'mock';
      case 'integer':
      case 'number':
        return 1;
      case 'boolean':
        return true;
      case 'array':
        return items === undefined ? [] : [this.of(items, depth + 1)];
      case 'null':
        return null;
      default:
        return this.#ofProperties(properties, depth);
    }
  }

  get #isFull(): boolean {
    return this.#values >= SAMPLE_VALUES_MAX;
  }

  #ofProperties(properties: unknown, depth: number): unknown {
    if (!isObject(properties)) return {};
    const sample: [name: string, value: unknown][] = [];
    for (const name in properties) {
      if (this.#isFull) break;
      sample.push([name, this.of(properties[name], depth + 1)]);
    }
    return Object.fromEntries(sample);
  }
}

/** A value that is written down in the schema may be anything. */
function shortOrNull(value: unknown): unknown {
  if (typeof value === 'string') return value.length <= WORD_CHARS_MAX ? value : null;
  return typeof value === 'object' ? null : value;
}
