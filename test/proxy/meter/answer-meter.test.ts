import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { type AnswerMeter, createAnswerMeter } from '../../../proxy/meter/answer-meter.ts';
import { tokenCounts } from '../../../proxy/meter/seen-usage.ts';
import { createStreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { millitokensOf } from '../../../proxy/meter/text-tokens.ts';
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
  const meter = createAnswerMeter(contentLength);
  for (const chunk of chunksOf(body, sizes)) meter.push(chunk);
  return meter;
}

describe('the answer meter', () => {
  it('reads a Message in any chunks as soon as its last byte is there', () => {
    fc.assert(
      fc.property(chunkSizes, (sizes) => {
        const meter = metered(BODY, BODY.length, sizes);
        expect(meter).toMatchObject({ complete: true, messageId: 'msg_1', stopReason: 'end_turn' });
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

  it('stops keeping a body over the bound, announced or not, and says so', () => {
    const piece = Buffer.alloc(LIMITS.answerBytesMax / 4, ' ');
    const unannounced = createAnswerMeter(null);
    for (let index = 0; index < 4; index++) unannounced.push(piece);
    expect(unannounced.usage.malformed).toEqual([]);
    unannounced.push(BODY);
    unannounced.end();
    expect(unannounced).toMatchObject({ complete: false, usage: { inputTokens: null, malformed: ['body'] } });
    expect(unannounced.usage.bytes).toBe(LIMITS.answerBytesMax + BODY.length);
    expect(createAnswerMeter(LIMITS.answerBytesMax + 1).usage.malformed).toEqual(['body']);
  });

  it('counts the same tokens as the stream of the same Message', () => {
    const stream = createStreamMeter();
    stream.push(Buffer.from(messageStream([])));
    expect(tokenCounts(metered(BODY, BODY.length).usage)).toEqual(tokenCounts(stream.usage));
  });
});
