import { expect, test } from 'vitest';
import { text, thinking, toolUse } from './content.ts';
import { message } from './message.ts';
import { errorEvent, streamEvents } from './stream-events.ts';

const dataOf = (chunk: Buffer) => JSON.parse(/data: (.*)/.exec(chunk.toString())?.[1] ?? 'null');
const TOKENS = { input: 7, output: 40, cacheRead: 5, cacheWrite5m: 3, cacheWrite1h: 2 };

test('the input side stands in message_start, the cumulative usage in message_delta', () => {
  const events = streamEvents({ tokens: TOKENS }).map(dataOf);
  expect(events[0].message.usage).toEqual({
    input_tokens: 7,
    cache_creation_input_tokens: 5,
    cache_read_input_tokens: 5,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
    output_tokens: 1,
    service_tier: 'standard',
  });
  expect(events.at(-2)).toEqual({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { input_tokens: 7, cache_creation_input_tokens: 5, cache_read_input_tokens: 5, output_tokens: 40 },
  });
});

test('a stream and a Message of the same content have the same final usage', () => {
  const final = dataOf(streamEvents({ tokens: TOKENS }).at(-2) ?? Buffer.alloc(0)).usage;
  expect(message({ tokens: TOKENS }).usage).toMatchObject(final);
});

test('each kind of block starts empty, grows by its own deltas and stops', () => {
  const blocks = [thinking('hm'), text('Hi'), toolUse('clock', '{"zone":', '"UTC"}')];
  const events = streamEvents({ blocks }, { ping: false }).map(dataOf).slice(1, -2);
  expect(events.map(({ type, index, delta }) => [index, delta?.type ?? type])).toEqual([
    [0, 'content_block_start'],
    [0, 'thinking_delta'],
    [0, 'signature_delta'],
    [0, 'content_block_stop'],
    [1, 'content_block_start'],
    [1, 'text_delta'],
    [1, 'content_block_stop'],
    [2, 'content_block_start'],
    [2, 'input_json_delta'],
    [2, 'input_json_delta'],
    [2, 'content_block_stop'],
  ]);
  expect(message({ blocks })).toMatchObject({ stop_reason: 'tool_use' });
  expect(message({ blocks }).content).toContainEqual({
    type: 'tool_use',
    id: 'toolu_clock',
    name: 'clock',
    input: { zone: 'UTC' },
  });
});

test('line ends, comments and unknown events change nothing else', () => {
  const plain = streamEvents().map((chunk) => chunk.toString());
  const crlf = streamEvents({}, { lineEnd: '\r\n' }).map((chunk) => chunk.toString());
  expect(crlf.every((chunk) => /^event: \w+\r\ndata: [^\r\n]*\r\n\r\n$/.test(chunk))).toBe(true);
  expect(crlf.map((chunk) => chunk.replaceAll('\r\n', '\n'))).toEqual(plain);
  const noisy = streamEvents({}, { comments: true, unknownEvents: true }).map((chunk) => chunk.toString());
  expect(noisy.every((chunk) => chunk.startsWith(': keep-alive\nevent: '))).toBe(true);
  const known = noisy.filter((chunk) => !chunk.includes('block_annotation'));
  expect(noisy).toHaveLength(known.length + 1);
  expect(known.map((chunk) => chunk.slice(': keep-alive\n'.length))).toEqual(plain);
});

test('text of several bytes a character survives', () => {
  const pieces = ['naïve ', '日本', '🙂'];
  const events = streamEvents({ blocks: [text(...pieces)] }, { ping: false }).map(dataOf);
  expect(events.slice(2, 5).map(({ delta }) => delta.text)).toEqual(pieces);
});

test('an error event has the envelope', () => {
  expect(errorEvent().toString()).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  );
});
