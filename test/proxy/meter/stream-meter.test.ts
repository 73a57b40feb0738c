import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BROKEN_EVENTS_MAX, ERROR_MESSAGE_MAX, EVENT_BYTES_MAX, MALFORMED_MAX } from '../../../proxy/meter/limits.ts';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { READ_VALUES_MAX } from '../../../proxy/upstream/limits.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { chunkSizes, chunksOf, streamBytes } from './arbitrary-stream.ts';
import { type ReferenceReading, readStream } from './reference.ts';
import { deltaEvent, event, messageStream, STOP_EVENT, startEvent, usageEvent } from './streams.ts';

const RUNS = 400;

function metered(bytes: Buffer | string, sizes: readonly number[] = [Number.MAX_SAFE_INTEGER]): StreamMeter {
  const meter = new StreamMeter(NO_SECRETS);
  for (const chunk of chunksOf(Buffer.from(bytes), sizes)) meter.push(chunk);
  return meter;
}

/** What the meter has read, in the shape of the reference. */
function readingOf(meter: StreamMeter): ReferenceReading {
  const { malformed, bytes: _, textMillitokens: __, unread: ___, ...said } = meter.usage;
  const fields = Object.fromEntries(
    Object.entries(said).filter((field): field is [string, number] => field[1] !== null),
  );
  const { complete, isFinal: final, errorEvent: error, messageId: id, atBoundary } = meter;
  return { fields, malformed: [...malformed], complete, final, error, id, atBoundary };
}

describe('the stream meter, held against a plain reading of the whole stream', () => {
  it('reads the same from any stream, cut into any chunks, with any line ends', () => {
    fc.assert(
      fc.property(streamBytes, chunkSizes, (bytes, sizes) => {
        const meter = metered(bytes, sizes);
        expect(readingOf(meter)).toEqual(readStream(bytes));
        expect(meter.usage.bytes).toBe(bytes.length);
        meter.end();
        expect(readingOf(meter)).toEqual(readStream(bytes, true));
        const inOne = metered(bytes);
        inOne.end();
        expect(meter.usage.textMillitokens).toBe(inOne.usage.textMillitokens);
      }),
      { numRuns: RUNS * 4 },
    );
  });

  it('knows after every byte what the whole events before it have said, and no more', () => {
    fc.assert(
      fc.property(streamBytes, (bytes) => {
        const meter = new StreamMeter(NO_SECRETS);
        for (let length = 1; length <= bytes.length; length++) {
          meter.push(bytes.subarray(length - 1, length));
          if (length % 7 === 0 || length > bytes.length - 3)
            expect(readingOf(meter)).toEqual(readStream(bytes.subarray(0, length)));
        }
      }),
      { numRuns: RUNS / 8 },
    );
  });

  it('reads the same from a stream that is cut off at any byte', () => {
    const bytes = Buffer.from(messageStream([deltaEvent('a "message_delta" event: error \n\n é漢'), deltaEvent('b')]));
    for (let length = 0; length <= bytes.length; length++) {
      const cut = bytes.subarray(0, length);
      const meter = metered(cut);
      expect(readingOf(meter)).toEqual(readStream(cut));
      expect(meter.complete).toBe(length === bytes.length);
      meter.end();
      expect(readingOf(meter)).toEqual(readStream(cut, true));
      const isUsageThere = cut.includes('"output_tokens":20}}');
      expect(meter).toMatchObject({ complete: isUsageThere, isFinal: isUsageThere });
    }
  });

  it('reads the same, and weighs the same text, wherever a stream is cut in two', () => {
    const deltas = ['a "message_delta" \\ é漢', ' b\n\n', '👩‍💻', ' "delta":{"text":"c'].map(deltaEvent);
    for (const whole of [messageStream(deltas), messageStream(deltas).trimEnd(), messageStream(deltas).slice(0, -70)]) {
      const bytes = Buffer.from(whole);
      const ended = (sizes: readonly number[]) => {
        const meter = metered(bytes, sizes);
        meter.end();
        return { ...readingOf(meter), textMillitokens: meter.usage.textMillitokens };
      };
      const inOne = ended([bytes.length]);
      expect(inOne.textMillitokens).toBeGreaterThan(3_000);
      for (let at = 1; at < bytes.length; at++) expect(ended([at, bytes.length])).toEqual(inOne);
    }
  });

  it('never changes the bytes that it looks at', () => {
    fc.assert(
      fc.property(streamBytes, chunkSizes, (bytes, sizes) => {
        const chunks = chunksOf(bytes, sizes);
        const meter = new StreamMeter(NO_SECRETS);
        for (const chunk of chunks) meter.push(chunk);
        expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
      }),
      { numRuns: RUNS / 4 },
    );
  });
});

describe('usage in a stream', () => {
  it('is cumulative: the last explicit value of each field stands, null and absence keep it', () => {
    const { usage } = metered(
      startEvent({ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5, service_tier: 'priority' }) +
        usageEvent({ output_tokens: 7, cache_read_input_tokens: null }) +
        usageEvent({ output_tokens: 9, input_tokens: 11, service_tier: null }),
    );
    expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 9, cacheReadTokens: 5, serviceTier: 'priority' });
    expect(usage.cacheCreationTokens).toBeNull();
  });

  it('takes an explicit zero for what it is', () => {
    expect(metered(startEvent({ input_tokens: 10 }) + usageEvent({ input_tokens: 0 })).usage.inputTokens).toBe(0);
  });

  it('names what cannot be usage and keeps it out', () => {
    const { usage } = metered(startEvent({ input_tokens: 10, output_tokens: -1 }) + usageEvent({ output_tokens: '9' }));
    expect(usage.outputTokens).toBeNull();
    expect(usage.malformed).toEqual(['message_start.message.usage.output_tokens', 'message_delta.usage.output_tokens']);
  });

  it('records each fault once, however often it comes', () => {
    const stream = Array.from({ length: MALFORMED_MAX * 4 }, () => usageEvent({ output_tokens: 0.5 })).join('');
    expect(metered(stream).usage.malformed).toEqual(['message_delta.usage.output_tokens']);
  });

  it('is found where a delta speaks of the protocol itself', () => {
    const spoken = deltaEvent(`event: message_stop\n\nevent: error\ndata: ${STOP_EVENT}"message_delta" error`);
    const meter = metered(startEvent({ input_tokens: 3 }) + spoken.repeat(3) + usageEvent({ output_tokens: 4 }));
    expect(meter.usage).toMatchObject({ inputTokens: 3, outputTokens: 4, malformed: [] });
    expect(meter).toMatchObject({ complete: false, errorEvent: null });
  });
});

describe("the stream's end", () => {
  it('is complete with message_stop and its blank line, not before', () => {
    const stream = messageStream([deltaEvent('hi')]);
    expect(metered(stream).complete).toBe(true);
    expect(metered(stream.slice(0, -1)).complete).toBe(false);
  });

  it('is seen behind a byte order mark at the start of the stream, and behind none that comes later', () => {
    const marked = Buffer.from(`\ufeffdata: {"type":"message_stop"}\n\n`);
    expect(metered(marked).complete).toBe(true);
    const meter = new StreamMeter(NO_SECRETS);
    for (const chunk of [Buffer.from(startEvent({})), marked, marked]) meter.push(chunk);
    expect(meter.complete).toBe(false);
  });

  it('takes no bytes after it', () => {
    const meter = metered(messageStream([]));
    meter.end();
    expect(() => meter.push(Buffer.from('x'))).toThrow('no bytes come after the end');
  });

  it('is the end of what is read: what comes after message_stop, or after an error, is no part of the message', () => {
    const after = usageEvent({ input_tokens: 9_999, output_tokens: 9_999 });
    const error = event('error', { type: 'error', error: { type: 'overloaded_error', message: 'x' } });
    for (const size of [[Number.MAX_SAFE_INTEGER], [1]]) {
      const stopped = metered(messageStream([]) + after + error, size);
      expect(stopped.usage).toMatchObject({ inputTokens: 10, outputTokens: 20 });
      expect(stopped).toMatchObject({ complete: true, isFinal: true, errorEvent: null });
      const failed = metered(startEvent({ input_tokens: 10 }) + error + after + STOP_EVENT, size);
      failed.end();
      expect(failed.usage).toMatchObject({ inputTokens: 10, outputTokens: null });
      expect(failed).toMatchObject({ complete: false, isFinal: false });
    }
  });

  it('comes with a known stop_reason, too, once no more bytes come', () => {
    const meter = metered(startEvent({ input_tokens: 10 }) + usageEvent({ output_tokens: 4 }).trimEnd());
    expect(meter).toMatchObject({ complete: false, isFinal: false });
    meter.end();
    expect(meter).toMatchObject({ complete: true, isFinal: true, usage: { outputTokens: 4 } });
  });

  it('leaves the usage open where only its beginning was said, or what was said last cannot be read', () => {
    const start = startEvent({ input_tokens: 10, output_tokens: 1 });
    for (const said of [null, {}, { output_tokens: null }, { output_tokens: '9' }])
      expect(metered(start + usageEvent(said) + STOP_EVENT)).toMatchObject({ complete: true, isFinal: false });
    expect(metered(start + STOP_EVENT)).toMatchObject({ complete: true, isFinal: false });
  });

  it("keeps the upstream's first error, with a bound on its message", () => {
    const error = { type: 'overloaded_error', message: 'x'.repeat(ERROR_MESSAGE_MAX + 1) };
    const second = event('error', { type: 'error', error: { type: 'api_error', message: 'second' } });
    const { errorEvent } = metered(event('error', { type: 'error', error }) + second);
    expect(errorEvent).toEqual({ type: 'overloaded_error', message: 'x'.repeat(ERROR_MESSAGE_MAX) });
  });

  it('is between two events after whole comment lines, and not after a part of anything', () => {
    const start = startEvent({});
    expect(metered('').atBoundary).toBe(true);
    expect(metered(`${start}: ping\n`).atBoundary).toBe(true);
    expect(metered(`${start}: pi`).atBoundary).toBe(false);
    expect(metered(`${start}event: ping\n`).atBoundary).toBe(false);
    expect(metered(`${start.replaceAll('\n', '\r')}`).atBoundary).toBe(true);
    expect(metered(`${start}data: ${'x'.repeat(EVENT_BYTES_MAX)}\n`).atBoundary).toBe(false);
  });
});

describe('the text of an answer', () => {
  const said = 'The river "Aare" says: \\ \n 漢字 👩‍💻 é';
  const worth = millitokensOf(said);
  const block = (content: object): string =>
    event('content_block_start', { type: 'content_block_start', index: 0, content_block: content });
  const plain = deltaEvent(said);
  const input = event('content_block_delta', { delta: { type: 'input_json_delta', partial_json: said } });

  it.each<[string, string]>([
    ['plainly', plain],
    ['with two spaces after the names of fields', plain.replaceAll('":', '":  ')],
    ['with two spaces after data', plain.replace('data: ', 'data:  ')],
    ['without a space after data', plain.replace('data: ', 'data:')],
    ['with further fields before the text', plain.replace('"text":"', '"index":0,"logprobs":[{"x":1}],"text":"')],
    ['with further fields behind the text', plain.replace('"}}', '","index":0},"usage":{"output_tokens":null}}')],
    [
      'with the delta before its type',
      `data: {"delta":{"text":${JSON.stringify(said)}},"type":"content_block_delta"}\n\n`,
    ],
    ['in several lines of data', plain.replace('"delta":', '\ndata:"delta":\ndata: ')],
    ['with an id and a time to retry', `id: 7\nretry: 10\n${plain}`],
    ['with escaped names', plain.replace('"delta"', '"d\\u0065lta"').replace('"text":"', '"\\u0074ext":"')],
    ['as the text that a block begins with', block({ type: 'text', text: said })],
    ['as the thinking that a block begins with', block({ type: 'thinking', thinking: said })],
    ['beside a word of usage', plain.replace('"index":0', '"index":0,"x":"message_s"')],
    ['as the input of a tool, spelled otherwise', input.replaceAll(':"', ':   "')],
  ])('is weighed %s, in whatever packets it comes', (_how, said) => {
    const bytes = Buffer.from(startEvent({ input_tokens: 1 }) + deltaEvent('x') + said + deltaEvent('x'));
    for (const sizes of [[bytes.length], [1], [7, 31], [bytes.length - 3, 3]]) {
      const meter = metered(bytes, sizes);
      meter.end();
      expect(meter.usage.textMillitokens).toBe(worth + 300);
    }
  });

  it('is the input that a block of a tool begins with, and nothing where it is to come', () => {
    expect(metered(block({ type: 'tool_use', input: { a: said } })).usage.textMillitokens).toBe(
      millitokensOf(JSON.stringify({ a: said })),
    );
    expect(metered(block({ type: 'tool_use', input: {} })).usage.textMillitokens).toBe(0);
  });

  it('is what had come of an event that is cut, however it is spelled', () => {
    const cut = (whole: string): string => whole.slice(0, whole.indexOf(' says'));
    for (const whole of [plain, plain.replace('"delta":', '"delta":  '), block({ type: 'text', text: said })]) {
      const bytes = Buffer.from(cut(whole));
      for (const sizes of [[bytes.length], [1], [40]]) {
        const meter = metered(bytes, sizes);
        meter.end();
        expect(meter.usage.textMillitokens).toBe(millitokensOf('The river "Aare"'));
      }
    }
  });

  it('is none of what says something of usage, also where that is cut', () => {
    const usage = usageEvent({ output_tokens: 4 }).replace('"delta":{', `"delta":{"text":${JSON.stringify(said)},`);
    for (const stream of [usage, usage.slice(0, -20)]) {
      const meter = metered(stream);
      meter.end();
      expect(meter.usage.textMillitokens).toBe(0);
    }
  });

  it('ends where the message does, however it is spelled', () => {
    const stop = STOP_EVENT.replaceAll('message_stop', 'message\\u005fstop').replace(/^event.*\n/, '');
    const meter = metered(plain + stop + plain + plain.replace('"delta":', '"delta":  '));
    expect(meter).toMatchObject({ complete: true, usage: { textMillitokens: worth } });
  });

  it('is none of what spells with an escape that it says something of usage, whichever stands first', () => {
    const type = '"type":"message\\u005fdelta"';
    const delta = `"delta":{"type":"text_delta","text":${JSON.stringify(said)},"stop_reason":"end_turn"}`;
    const usage = '"usage":{"output_tokens":42}';
    for (const said of [`${type},${delta},${usage}`, `${delta},${usage},${type}`])
      expect(metered(`data: {${said}}\n\n`).usage).toMatchObject({ outputTokens: 42, textMillitokens: 0 });
  });
});

describe('an event of more bytes than are kept', () => {
  const long = 'x'.repeat(EVENT_BYTES_MAX);
  const sizes = [[Number.MAX_SAFE_INTEGER], [65_536], [999]];

  it('is passed over when it is none of ours, even where it speaks of errors', () => {
    const block = event('content_block_start', {
      type: 'content_block_start',
      kind: 'error',
      error: `message_ ${long}`,
    });
    for (const size of sizes) {
      const meter = metered(startEvent({ input_tokens: 3 }) + block + usageEvent({ output_tokens: 4 }), size);
      expect(meter.usage).toMatchObject({ inputTokens: 3, outputTokens: 4, malformed: [] });
      expect(meter.atBoundary).toBe(true);
    }
  });

  it('is told as malformed when it is one of ours, by its name or by its type', () => {
    const data = `data: {"type":"message_delta","usage":{"output_tokens":9},"more":"${long}"}\n\n`;
    for (const stream of [`event: message_delta\n${data}`, `: comment\n${data}`, `\ufeff${data}`])
      for (const size of sizes) {
        const meter = metered(stream + STOP_EVENT, size);
        expect(meter.usage).toMatchObject({ outputTokens: null, malformed: ['message_delta.data'] });
        expect(meter.complete).toBe(true);
      }
  });

  it('is still read at exactly the bound', () => {
    const head = 'event: message_delta\ndata: {"usage":{"output_tokens":9},"more":"';
    const start = startEvent({});
    const fill = EVENT_BYTES_MAX - head.length - '"}\n\n'.length;
    for (const size of sizes) {
      const read = metered(`${start}${head}${long.slice(0, fill)}"}\n\n`, size);
      expect(read.usage).toMatchObject({ outputTokens: 9, malformed: [] });
      const passedOver = metered(`${start}${head}${long.slice(0, fill + 1)}"}\n\n`, size);
      expect(passedOver.usage).toMatchObject({ outputTokens: null, malformed: ['message_delta.data'] });
    }
  });

  it('is weighed as far as it is kept, in whatever packets it comes', () => {
    const delta = deltaEvent(long);
    const beginning = EVENT_BYTES_MAX - delta.indexOf('xx');
    for (const stream of [delta, delta.replace('"delta":', '"delta":  '), delta.trimEnd(), delta.slice(0, -5)]) {
      const bytes = Buffer.from(stream);
      const spaces = stream.includes(':  ') ? 2 : 0;
      for (const size of [...sizes, [EVENT_BYTES_MAX], [EVENT_BYTES_MAX - 1]]) {
        const meter = metered(bytes, size);
        meter.end();
        expect(meter.usage.textMillitokens).toBe((beginning - spaces) * 150);
      }
    }
  });

  it('costs no more than its length in one-byte chunks', () => {
    const meter = new StreamMeter(NO_SECRETS);
    meter.push(Buffer.from('data: '));
    const byte = Buffer.from('x');
    // Work that grew with the square of this would run into the time limit of the test by far.
    for (let sent = 0; sent < 5 * EVENT_BYTES_MAX; sent++) meter.push(byte);
    meter.push(Buffer.from(`\n\n${messageStream([])}`));
    expect(meter.usage).toMatchObject({ inputTokens: 10, outputTokens: 20, malformed: [] });
    expect(meter.complete).toBe(true);
  });
});

describe('events that are no JSON', () => {
  it('hide nothing of a stream where they do not even begin as an object, however many there are', () => {
    for (const junk of ['data: \\u\n\n', 'data: heartbeat\n\n', 'data: [1,\n\n', 'data:\n\n']) {
      const { usage, complete } = metered(messageStream([junk.repeat(3 * BROKEN_EVENTS_MAX)]));
      expect(complete).toBe(true);
      expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 20, malformed: [] });
    }
  });

  it('but begin as an object hide the rest of it only where they are very many, and that is told', () => {
    const broken = (times: number) => messageStream(['data: {\\u}\n\n'.repeat(times)]);
    expect(metered(broken(BROKEN_EVENTS_MAX - 1))).toMatchObject({ complete: true, usage: { malformed: [] } });
    const { usage, isFinal } = metered(broken(BROKEN_EVENTS_MAX));
    expect(usage).toMatchObject({ inputTokens: 10, malformed: ['data', 'message_delta.data'] });
    expect(isFinal).toBe(false);
    // Without names nothing behind them is known for what it is.
    const nameless = messageStream(['data: {\\u}\n\n'.repeat(BROKEN_EVENTS_MAX)]).replaceAll(/^event: .*\n/gm, '');
    expect(metered(nameless)).toMatchObject({ complete: false, usage: { inputTokens: 10, malformed: ['data'] } });
  });
});

describe('an event with more in it than is read', () => {
  const ones = `[${'1,'.repeat(READ_VALUES_MAX)}1]`;
  const deep = '['.repeat(2 * READ_VALUES_MAX);

  it('is told as malformed when it is one of ours, by its name or by its type, and ends what it ends', () => {
    for (const values of [ones, deep])
      for (const name of ['event: message_delta\n', '']) {
        const data = `{"type":"message_delta","usage":{"output_tokens":9},"more":${values}}`;
        const meter = metered(`${startEvent({})}${name}data: ${data}\n\n${STOP_EVENT}`, [65_536]);
        expect(meter.usage).toMatchObject({ outputTokens: null, malformed: ['message_delta.data'] });
        expect(meter.complete).toBe(true);
      }
    expect(metered(`event: message_start\ndata: {"message":${ones}}\n\n`).usage.malformed).toEqual([
      'message_start.data',
    ]);
    expect(metered(`event: message_stop\ndata: ${ones}\n\n`).complete).toBe(true);
    expect(metered(`event: error\ndata: {"error":{"type":"a","message":"b"},"c":${deep}}\n\n`).errorEvent).toEqual({
      type: 'a',
      message: 'b',
    });
  });

  it('is weighed by its beginning, whole or cut', () => {
    const block = `event: content_block_start\ndata: {"content_block":{"type":"tool_use","input":{"a":${ones}}}}\n\n`;
    const whole = metered(block).usage.textMillitokens;
    expect(whole).toBeGreaterThan(READ_VALUES_MAX * millitokensOf('1'));
    const cut = metered(block.slice(0, -5));
    cut.end();
    expect(cut.usage.textMillitokens).toBe(whole);
  });
});
