import { afterAll, describe, expect, it } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, end, hangUp, head, reset, type Step, stream, write } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { byteByByte, cutAtRandom, oneChunk } from '../upstream/rechunk.ts';
import { errorEvent, event, streamEvents } from '../upstream/stream-events.ts';

/** What an upstream says last about usage is final once `stop_reason` is known, however the bytes fall. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const events = streamEvents({ tokens, blocks: [text('one ', 'two ', 'three ', 'four')] });
const unstopped = events.slice(0, -1);
const unended = [...unstopped.slice(0, -1), withoutBlankLine(unstopped.at(-1))];
const later = (output: number) =>
  event('message_delta', {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: output },
  });

function withoutBlankLine(bytes: Buffer | undefined): Buffer {
  return Buffer.from(bytes?.toString('utf8').trimEnd() ?? '');
}

const cuts: [string, (chunks: readonly Uint8Array[]) => Buffer[]][] = [
  ['an event a chunk', (chunks) => chunks.map((chunk) => Buffer.from(chunk))],
  ['everything in one chunk', oneChunk],
  ['one byte a chunk', byteByByte],
  ['cut at random', (chunks) => cutAtRandom(chunks, 9, 60)],
];

/** Posts once for each way to cut the content, and returns what each was recorded as and what the client got. */
async function endings(content: readonly Uint8Array[], last: Step = end) {
  const results = [];
  for (const [name, cut] of cuts) {
    const chunks = cut(content);
    const answer: Answer = last === end ? stream(chunks) : [head(), ...chunks.map(write), last];
    upstream.answerWith(answer);
    const count = (await recorded(gateway)).usages.length;
    const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(count + 1);
    const { usages } = await recorded(gateway);
    const { outcome, billable, source, tokens: counted } = usages.at(-1) ?? {};
    results.push({ name, isCut, body, ending: { outcome, billable, source, tokens: counted } });
  }
  return results;
}

const completed = { outcome: 'completed', billable: true, source: 'reported', tokens };

describe('a stream whose stop_reason is known', () => {
  it.each([
    ['and that has no message_stop', unstopped],
    ['and whose last event has no blank line', unended],
    ['and whose message_stop has no blank line', [...unstopped, withoutBlankLine(events.at(-1))]],
    [
      'and whose lines end in CRLF, the last in nothing',
      [Buffer.from(Buffer.concat(unended).toString('utf8').replaceAll('\n', '\r\n'))],
    ],
    [
      'and whose lines end in CR, the last in nothing',
      [Buffer.from(Buffer.concat(unended).toString('utf8').replaceAll('\n', '\r'))],
    ],
  ])('%s is complete, is charged, and ends for the client as it ended, byte for byte', async (_how, content) => {
    for (const { name, isCut, body, ending } of await endings(content)) {
      expect({ name, isCut, ending }).toEqual({ name, isCut: false, ending: completed });
      expect(body.equals(Buffer.concat(content))).toBe(true);
    }
  });

  it.each([
    ['a reset', reset],
    ['a hang-up', hangUp],
  ])('is complete though its connection breaks by %s before message_stop', async (_how, last) => {
    for (const { name, isCut, body, ending } of await endings(unstopped, last)) {
      expect({ name, isCut, ending }).toEqual({ name, isCut: false, ending: completed });
      expect(body.equals(Buffer.concat(unstopped))).toBe(true);
    }
  });

  it.each([
    ['after message_stop changes nothing', [...events, later(9_000)], 40],
    ['before message_stop, said again, is the last word', [...unstopped, later(60), ...events.slice(-1)], 60],
    ['said again, without message_stop, is the last word', [...unstopped, later(60)], 60],
  ])('usage %s', async (_how, content, output) => {
    for (const { name, isCut, ending } of await endings(content))
      expect({ name, isCut, ending }).toEqual({
        name,
        isCut: false,
        ending: { ...completed, tokens: { ...tokens, output } },
      });
  });
});

describe('a stream whose stop_reason is not known', () => {
  const whole = events.slice(0, -2);
  it.each([
    ['ends between two events', whole],
    ['ends in the middle of its last event', [...whole, (unstopped.at(-1) ?? Buffer.alloc(0)).subarray(0, 60)]],
  ])('and %s is interrupted: the client gets the error event and is cut; nothing is charged', async (_how, content) => {
    for (const { name, isCut, body, ending } of await endings(content)) {
      const interrupted = {
        outcome: 'upstream_interrupted',
        billable: false,
        source: 'reported',
        tokens: { ...tokens, output: 1 },
      };
      expect({ name, isCut, ending }).toEqual({ name, isCut: true, ending: interrupted });
      expect(body.subarray(Buffer.concat(content).length).toString('utf8')).toMatch(/^(\n\n)?event: error\ndata: /);
    }
  });
});

describe("the upstream's error event", () => {
  const interrupted = { outcome: 'upstream_interrupted', billable: false, source: 'reported' };

  it.each([
    ['after text', [...events.slice(0, 5), errorEvent()]],
    ['after stop_reason', [...unstopped, errorEvent()]],
    ['before the usage that follows it', [...events.slice(0, 5), errorEvent(), ...events.slice(5)]],
  ])('%s costs nothing and reaches the client as it is', async (_where, content) => {
    for (const { name, isCut, body, ending } of await endings(content)) {
      expect({ name, isCut, ending }).toMatchObject({ name, isCut: false, ending: interrupted });
      expect(body.equals(Buffer.concat(content))).toBe(true);
    }
  });

  it('after message_stop is no part of the message', async () => {
    for (const { name, ending } of await endings([...events, errorEvent()]))
      expect({ name, ending }).toEqual({ name, ending: completed });
  });

  it('without its blank line is one that no client reads: the gateway says it and cuts', async () => {
    for (const { name, isCut, body, ending } of await endings([...unstopped, withoutBlankLine(errorEvent())])) {
      expect({ name, isCut, ending }).toMatchObject({ name, isCut: true, ending: interrupted });
      expect(body.toString('utf8')).toMatch(/\n\nevent: error\ndata: .*"api_error".*\n\n$/);
    }
  });

  it('costs nothing though the client leaves when it reads it, at a provider that cancels', async () => {
    const other = await startTestGateway({ upstreamUrl: upstream.url, provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith([head(), ...events.slice(0, 5).map(write), write(errorEvent()), { type: 'silence' }]);
    const answer = await postMessage(other, { stream: true });
    let got = '';
    while (!got.includes('event: error')) got += (await answer.next())?.toString('utf8');
    answer.leave();
    await expect.poll(async () => (await recorded(other)).usages.length).toBe(1);
    expect((await recorded(other)).usages).toMatchObject([interrupted]);
    await other.stop();
  });
});
