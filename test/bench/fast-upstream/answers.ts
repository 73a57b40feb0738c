import { stampText } from '../stamps.ts';

/** What the fast upstream says, made once: bytes that are only copied while the benchmark runs. */

const JSON_BYTES = 600;
export const BURST_EVENTS = 100;
/** Two seconds at an event every 10 ms: the cost of the request itself is then a small part. */
export const PACED_EVENTS = 200;
export const PACE_MS = 10;
/** Twenty events a second for twenty seconds: none of these streams ends while they are counted. */
export const SLOW_EVENTS = 400;
export const SLOW_PACE_MS = 50;

/** The model's name tells the upstream how to answer; every contender forwards it near the body's start. */
export const MODELS = { json: 'bench-json', burst: 'bench-burst', paced: 'bench-paced', slow: 'bench-slow' } as const;
export type AnswerKind = keyof typeof MODELS;

/** The body of the answer that is not streamed: 600 bytes. */
export const JSON_BODY: Buffer = jsonBody();
/** The events of a stream, the last three of which end it. */
export function streamOf(events: number): Buffer[] {
  return [
    event('message_start', {
      message: { ...messageOf(MODELS.burst, []), stop_reason: null, usage: usage(1) },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...Array.from({ length: events - 5 }, (_, index) =>
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ` word ${index}` } }),
    ),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: events },
    }),
    event('message_stop', {}),
  ];
}

/** A whole JSON answer with its head. */
export const JSON_ANSWER: Buffer = Buffer.concat([
  headOf('application/json', `content-length: ${JSON_BODY.length}`),
  JSON_BODY,
]);
/** A whole stream with its head, its events in one HTTP chunk: what arrives when an upstream is faster than the proxy. */
export const BURST_ANSWER: Buffer = Buffer.concat([
  headOf('text/event-stream', 'transfer-encoding: chunked'),
  chunk(Buffer.concat(streamOf(BURST_EVENTS))),
  Buffer.from('0\r\n\r\n'),
]);
export const STREAM_HEAD: Buffer = headOf('text/event-stream', 'transfer-encoding: chunked');
/** Writes of a paced stream: an HTTP chunk each, the last one with the end of the body. */
export const PACED_WRITES: readonly Buffer[] = writesOf(PACED_EVENTS);
const SLOW_WRITES: readonly Buffer[] = writesOf(SLOW_EVENTS);
const STAMPED = chunk(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: stampText(0) } }));
const STAMP_AT = STAMPED.indexOf(stampText(0));

/** The write of a slow stream's event: those between its first two and its last three say when they were sent. */
export function slowWrite(index: number, nowUs: number): Buffer {
  const bytes = SLOW_WRITES[index] ?? Buffer.alloc(0);
  return index < 2 || index >= SLOW_EVENTS - 3 ? bytes : stampedChunk(nowUs);
}

/** How to answer a request, by its body's model. @throws Error for a model that the benchmark does not use. */
export function answerKindOf(request: Buffer): AnswerKind {
  const at = request.indexOf(MODEL_MARK);
  switch (request[at + MODEL_MARK.length]) {
    case LETTERS.json:
      return 'json';
    case LETTERS.burst:
      return 'burst';
    case LETTERS.paced:
      return 'paced';
    case LETTERS.slow:
      return 'slow';
    default:
      throw new Error(`a request without a model of the benchmark: ${request.subarray(0, 300)}`);
  }
}

const MODEL_MARK = Buffer.from('"model":"bench-');
const LETTERS = {
  json: 'j'.charCodeAt(0),
  burst: 'b'.charCodeAt(0),
  paced: 'p'.charCodeAt(0),
  slow: 's'.charCodeAt(0),
} as const;

function jsonBody(): Buffer {
  const bodyOf = (text: string) =>
    Buffer.from(
      JSON.stringify({
        ...messageOf(MODELS.json, [{ type: 'text', text }]),
        stop_reason: 'end_turn',
        usage: usage(73),
      }),
    );
  const padding = JSON_BYTES - bodyOf('').length;
  return bodyOf('The answer is a sentence of some length. '.repeat(20).slice(0, padding));
}

function messageOf(model: string, content: readonly unknown[]) {
  return {
    id: 'msg_01BenchBenchBenchBench',
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_sequence: null,
  };
}

function usage(output: number) {
  return {
    input_tokens: 210,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: output,
  };
}

function writesOf(events: number): Buffer[] {
  return streamOf(events).map((bytes, index) =>
    index === events - 1 ? Buffer.concat([chunk(bytes), Buffer.from('0\r\n\r\n')]) : chunk(bytes),
  );
}

/** Copied, for the socket may keep what it is given. */
function stampedChunk(nowUs: number): Buffer {
  const bytes = Buffer.from(STAMPED);
  bytes.write(stampText(nowUs), STAMP_AT, 'latin1');
  return bytes;
}

function event(type: string, fields: object): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
}

function headOf(contentType: string, framing: string): Buffer {
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\nrequest-id: req_bench\r\n${framing}\r\nconnection: keep-alive\r\n\r\n`,
  );
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
