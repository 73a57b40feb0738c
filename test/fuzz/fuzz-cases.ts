import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { mutated, oddValue } from './mutated.ts';

const FUZZ_KINDS = ['framing', 'body', 'answer'] as const;
export type FuzzKind = (typeof FUZZ_KINDS)[number];

/** One request, and what the upstream answers it with where it gets that far. */
export interface FuzzCase {
  readonly kind: FuzzKind;
  /** As it is sent. Where its framing is whole, it is answered, and its connection closed behind that. */
  readonly request: Buffer;
  readonly isFramingWhole: boolean;
  /** As it is sent. */
  readonly answer: Buffer;
  /** What an answer with status 200 begins with, or is; null where that cannot be told. */
  readonly passedOn: Buffer | null;
}

/** The case of a seed. */
export function fuzzCase(random: SeededRandom, key: string): FuzzCase {
  const kind = FUZZ_KINDS[random.whole(0, FUZZ_KINDS.length - 1)] ?? 'framing';
  switch (kind) {
    case 'framing':
      return framingCase(random, key);
    case 'body':
      return bodyCase(random, key);
    case 'answer':
      return answerCase(random, key);
    default:
      return kind satisfies never;
  }
}

const MODELS = ['opal-medium', 'opal-twice', 'opal-fast', 'svc-mock'];
const PATHS = ['/v1/messages', '/messages', '/v1/messages/count_tokens', '/v1/models', '/me', '/pricing', '/nowhere'];

function requestBody(random: SeededRandom): Record<string, unknown> {
  return {
    model: MODELS[random.whole(0, MODELS.length - 1)],
    max_tokens: random.whole(1, 500),
    ...(random.chance(0.5) ? { stream: random.chance(0.7) } : {}),
    system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'hello, too' }] },
      { role: 'user', content: [{ type: 'text', text: 'naïve 漢字 "and" \\' }] },
    ],
    tools: [{ name: 'look', description: 'looks', input_schema: { type: 'object', properties: {} } }],
    metadata: { user_id: 'someone' },
    temperature: 0.5,
  };
}

function framed(first: string, key: string, body: Buffer, isChunked: boolean): Buffer {
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
  const head = [
    first,
    'host: gateway',
    `x-api-key: ${key}`,
    'connection: close',
    'anthropic-version: 2023-06-01',
    framing,
  ];
  const sent = isChunked ? Buffer.concat([...chunksOf(body), Buffer.from('0\r\n\r\n')]) : body;
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), sent]);
}

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += 100) {
    const chunk = body.subarray(at, at + 100);
    yield Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
  }
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function framingCase(random: SeededRandom, key: string): FuzzCase {
  const path = PATHS[random.whole(0, PATHS.length - 1)] ?? '/';
  const method = random.chance(0.8) ? 'POST' : 'GET';
  const one = (): Buffer =>
    framed(`${method} ${path} HTTP/1.1`, key, jsonBytes(requestBody(random)), random.chance(0.4));
  const sent = random.chance(0.2) ? Buffer.concat([one(), one()]) : one();
  const request = mutated(random, sent, FRAMING);
  return { kind: 'framing', request, isFramingWhole: false, answer: goodAnswer(false).bytes, passedOn: null };
}

function bodyCase(random: SeededRandom, key: string): FuzzCase {
  const body = requestBody(random);
  const odd = random.chance(0.6) ? oddValue(random, body) : body;
  const bytes = random.chance(0.6) ? mutated(random, jsonBytes(odd), JSON_TOKENS) : jsonBytes(odd);
  const path = random.chance(0.8) ? '/v1/messages' : '/v1/messages/count_tokens';
  const request = framed(`POST ${path} HTTP/1.1`, key, bytes, random.chance(0.3));
  return { kind: 'body', request, isFramingWhole: true, answer: goodAnswer(false).bytes, passedOn: null };
}

function answerCase(random: SeededRandom, key: string): FuzzCase {
  const isStream = random.chance(0.6);
  const asked = { ...requestBody(random), model: 'opal-medium', stream: isStream };
  const request = framed('POST /v1/messages HTTP/1.1', key, jsonBytes(asked), false);
  const whole = { kind: 'answer', request, isFramingWhole: true } as const;
  if (random.chance(0.4))
    return { ...whole, answer: mutated(random, goodAnswer(isStream).bytes, FRAMING), passedOn: null };
  const odd = isStream ? null : oddValue(random, message());
  const body = mutated(random, odd === null ? goodAnswer(isStream).body : jsonBytes(odd), JSON_TOKENS);
  return { ...whole, answer: answered(isStream, body), passedOn: body };
}

export function goodAnswer(isStream: boolean): { readonly bytes: Buffer; readonly body: Buffer } {
  const body = isStream ? Buffer.concat(streamEvents()) : jsonBytes(message());
  return { bytes: answered(isStream, body), body };
}

function answered(isStream: boolean, body: Buffer): Buffer {
  const type = isStream ? 'text/event-stream' : 'application/json';
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

const FRAMING = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  ':',
  '\r\n\r\n',
  '\r\ncontent-length: 5',
  '\r\ncontent-length: 99999999999999999999',
  '\r\ntransfer-encoding: chunked',
  '\r\ntransfer-encoding: gzip',
  '\r\ncontent-encoding: gzip',
  '\r\nexpect: 100-continue',
  '\r\nexpect: something',
  '\r\nconnection: upgrade\r\nupgrade: h2c',
  '\r\nhost: other',
  '\r\nx-forwarded-for: 192.0.2.1',
  '\r\ncontent-type: nonsense',
  '\r\naccept-encoding: gzip',
  'HTTP/1.1 ',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/1.1 500 No\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 429 Later\r\nretry-after: 1\r\n',
  'GET ',
  'PATCH ',
  'OPTIONS ',
  '/../',
  '%zz',
  '?a=b&',
  '#',
  '0\r\n\r\n',
  'ffffffffff\r\n',
  '5;ext=1\r\n',
  '\xff\xfe',
  'x'.repeat(40_000),
];

const JSON_TOKENS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  'null',
  '1e999',
  '-0',
  '0x1',
  '"model":"svc-mock",',
  '"stream":true,',
  '"max_tokens":1e3,',
  '"__proto__":{},',
  '"usage":{"input_tokens":-5},',
  '"usage":null,',
  '\\u0000',
  '\\ud800',
  '\n\n',
  '\ndata: ',
  '\nevent: message_stop\n',
  'event: error\ndata: {"type":"error"}\n\n',
  '\xff',
  '['.repeat(600),
];
