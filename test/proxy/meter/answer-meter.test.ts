import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { AnswerMeter } from '../../../proxy/meter/answer-meter.ts';
import { ANSWER_PARSED_BYTES_MAX, MEMBER_BYTES_MAX } from '../../../proxy/meter/limits.ts';
import { tokenCounts } from '../../../proxy/meter/seen-usage.ts';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { READ_DEPTH_MAX, READ_VALUES_MAX } from '../../../proxy/upstream/limits.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { chunkSizes, chunksOf } from './arbitrary-stream.ts';
import { messageStream } from './streams.ts';

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'model-1',
  content: [{ type: 'text', text: 'é漢 "usage":{"input_tokens":99}' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 20 },
};
const BODY = Buffer.from(JSON.stringify(MESSAGE));

function metered(body: Buffer, contentLength: number | null, sizes: readonly number[] = [body.length]): AnswerMeter {
  const meter = new AnswerMeter(contentLength, NO_SECRETS);
  for (const chunk of chunksOf(body, sizes)) meter.push(chunk);
  return meter;
}

describe('the answer meter', () => {
  it('reads a Message in any chunks as soon as its last byte is there', () => {
    fc.assert(
      fc.property(chunkSizes, (sizes) => {
        const meter = metered(BODY, BODY.length, sizes);
        expect(meter).toMatchObject({ complete: true, messageId: 'msg_1' });
        const bytes = BODY.length;
        expect(meter.usage).toMatchObject({
          inputTokens: 10,
          outputTokens: 20,
          model: 'model-1',
          bytes,
          malformed: [],
        });
      }),
    );
  });

  it('keeps none of the pieces behind the first: one of a byte would keep all that was read with it', () => {
    const meter = new AnswerMeter(BODY.length, NO_SECRETS);
    for (const byte of BODY) {
      const piece = Buffer.from([byte]);
      meter.push(piece);
      if (meter.usage.bytes > 1) piece.fill(0);
    }
    expect(meter).toMatchObject({ complete: true, messageId: 'msg_1', usage: { inputTokens: 10, malformed: [] } });
  });

  it('waits for the end where no length is announced', () => {
    const meter = metered(BODY, null);
    expect(meter.complete).toBe(false);
    meter.end();
    expect(meter).toMatchObject({ complete: true, usage: { inputTokens: 10 } });
  });

  it('takes a body that is shorter than announced for cut, not for malformed', () => {
    const meter = metered(BODY.subarray(0, -1), BODY.length);
    meter.end();
    expect(meter).toMatchObject({ complete: false, isFinal: false, usage: { inputTokens: 10, malformed: [] } });
  });

  it.each([BODY.length * 20, null])('weighs what there is of a cut body, announced as %j bytes', (contentLength) => {
    const prose = 'A new water treatment plant, which has been delayed twice. '.repeat(20);
    const worth = millitokensOf(prose);
    const cut = (beginning: string) => {
      const meter = metered(Buffer.from(beginning), contentLength);
      meter.end();
      expect(meter).toMatchObject({ complete: false, isFinal: false, usage: { malformed: [] } });
      return meter.usage;
    };
    const text = JSON.stringify(prose);
    expect(cut(`{"type":"message","content":[{"type":"text","text":${text.slice(0, -1)}`).textMillitokens).toBe(worth);
    expect(cut(`{"type":"message","content":[{"type":"thinking","thinking":${text}},`).textMillitokens).toBe(worth);
    const tool = `{"type":"message","content":[{"type":"tool_use","id":"a","name":"n","input":{"a":{"b":${text}`;
    expect(cut(tool).textMillitokens).toBeGreaterThan(worth);
    expect(cut('{"type":"message","usage":{"input_tokens":10,"output_tokens":1000},"content":[{"te')).toMatchObject({
      inputTokens: 10,
      outputTokens: 1000,
    });
    expect(cut('{"type":"message","usage":{"input_tokens":10,"output_tokens":1')).toMatchObject({
      inputTokens: 10,
      outputTokens: null,
    });
  });

  it.each(['not JSON', '', '[]', '3', '{"type":"error","usage":{"input_tokens":1}}', '{}'])(
    'says that %j is no Message',
    (text) => {
      const meter = metered(Buffer.from(text), null, [1]);
      meter.end();
      expect(meter).toMatchObject({ complete: false, usage: { inputTokens: null, malformed: ['body'] } });
    },
  );

  it('takes a Message without a type, as clients do, and one after a byte order mark', () => {
    const { type: _, ...untyped } = MESSAGE;
    for (const text of [JSON.stringify(untyped), `\ufeff${JSON.stringify(MESSAGE)}`]) {
      const body = Buffer.from(text);
      expect(metered(body, body.length)).toMatchObject({
        complete: true,
        usage: { inputTokens: 10, outputTokens: 20 },
      });
    }
  });

  it('names what cannot be usage', () => {
    const body = Buffer.from(JSON.stringify({ ...MESSAGE, usage: { input_tokens: -1, output_tokens: 20 } }));
    expect(metered(body, body.length).usage).toMatchObject({ inputTokens: null, malformed: ['usage.input_tokens'] });
  });

  const WORDS = 'A new water treatment plant, which has been delayed twice. ';
  const LONG_TEXT = { type: 'text', text: WORDS.repeat(2 * Math.ceil(ANSWER_PARSED_BYTES_MAX / WORDS.length)) };
  const MANY_VALUES = { type: 'tool_use', id: 't', name: 'n', input: { a: Array(READ_VALUES_MAX).fill(1) } };
  const DEEP = { type: 'tool_use', id: 't', name: 'n', input: nested(READ_DEPTH_MAX) };

  it.each([
    ['long', LONG_TEXT],
    ['of many values', MANY_VALUES],
    ['deep', DEEP],
  ])('reads the usage of an answer that is %s, wherever it stands and whatever its chunks', (_what, block) => {
    const { usage, content: _, ...others } = MESSAGE;
    for (const message of [
      { ...MESSAGE, content: [block] },
      { usage, content: [block], ...others },
    ]) {
      const body = Buffer.from(JSON.stringify(message));
      for (const [length, sizes] of [
        [body.length, [65_536]],
        [null, [body.length]],
        [body.length, [body.length - 3, 1]],
      ] as const) {
        const meter = metered(body, length, sizes);
        meter.end();
        expect(meter).toMatchObject({ complete: true, isFinal: true, messageId: 'msg_1' });
        expect(meter.usage).toMatchObject({ inputTokens: 10, outputTokens: 20, model: 'model-1', malformed: [] });
      }
    }
  });

  it.each([
    ['long', LONG_TEXT, ANSWER_PARSED_BYTES_MAX / 10],
    ['of many values', MANY_VALUES, READ_VALUES_MAX],
  ])('weighs the beginning of what an answer that is %s says, where its usage cannot be read', (_what, block, most) => {
    const body = Buffer.from(JSON.stringify({ ...MESSAGE, content: [block], usage: { output_tokens: -1 } }));
    const meter = metered(body, body.length, [65_536]);
    expect(meter).toMatchObject({ complete: true, usage: { malformed: ['usage.output_tokens'] } });
    expect(meter.usage.textMillitokens).toBeGreaterThan(most);
    const cut = metered(body.subarray(0, -1), body.length, [65_536]);
    cut.end();
    expect(cut).toMatchObject({ complete: false, usage: { malformed: [], inputTokens: null } });
    expect(cut.usage.textMillitokens).toBe(meter.usage.textMillitokens);
  });

  it('tells that usage is too long to be read', () => {
    const usage = { input_tokens: 1, output_tokens: 2, server_tool_use: { x: 'x'.repeat(MEMBER_BYTES_MAX) } };
    const body = Buffer.from(JSON.stringify({ ...MESSAGE, content: [LONG_TEXT], usage }));
    expect(metered(body, body.length).usage).toMatchObject({ inputTokens: null, malformed: ['usage'] });
  });

  it('does not parse brackets without end', () => {
    for (const [bytes, contentLength] of [
      [ANSWER_PARSED_BYTES_MAX, null],
      [4 * ANSWER_PARSED_BYTES_MAX, 4 * ANSWER_PARSED_BYTES_MAX],
    ] as const) {
      const heapBytes = process.memoryUsage().heapUsed;
      const meter = metered(Buffer.alloc(bytes, '['), contentLength, [65_536]);
      meter.end();
      expect(meter).toMatchObject({ complete: false, usage: { malformed: ['body'] } });
      // Parsed, each takes a hundred times its bytes.
      expect(process.memoryUsage().heapUsed - heapBytes).toBeLessThan(32 * ANSWER_PARSED_BYTES_MAX);
    }
  });

  it('stops keeping a body over the bound, announced or not, and says so', () => {
    const piece = Buffer.alloc(LIMITS.answerBytesMax / 4, ' ');
    const unannounced = new AnswerMeter(null, NO_SECRETS);
    for (let index = 0; index < 4; index++) unannounced.push(piece);
    expect(unannounced.usage.malformed).toEqual([]);
    unannounced.push(BODY);
    unannounced.end();
    expect(unannounced).toMatchObject({ complete: false, usage: { inputTokens: null, malformed: ['body'] } });
    expect(unannounced.usage.bytes).toBe(LIMITS.answerBytesMax + BODY.length);
    expect(new AnswerMeter(LIMITS.answerBytesMax + 1, NO_SECRETS).usage.malformed).toEqual(['body']);
  });

  it('counts the same tokens as the stream of the same Message', () => {
    const stream = new StreamMeter(NO_SECRETS);
    stream.push(Buffer.from(messageStream([])));
    expect(tokenCounts(metered(BODY, BODY.length).usage)).toEqual(tokenCounts(stream.usage));
  });
});

/** Lists in lists: so many, and the objects around them. */
function nested(depth: number): unknown {
  let value: unknown = { deepest: 1 };
  for (let level = 0; level < depth; level++) value = [value];
  return { value };
}
