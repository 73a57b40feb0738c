import { afterAll, expect, it } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { eventsOf } from '../proxy/meter/reference.ts';
import { stream } from '../upstream/answer.ts';
import { byteByByte, oneChunk } from '../upstream/rechunk.ts';
import { TORN_STREAMS } from '../upstream/torn-streams.ts';

/** An event that its provider has not completed reaches no reader of the standard's rule as one: the gateway's error does. */
const { upstream, gateway } = await startOnUpstream(afterAll);

it.each([...TORN_STREAMS])('a stream that is torn %s ends in one event, the error', async (_where, sent) => {
  for (const chunks of [oneChunk([sent]), byteByByte([sent])]) {
    upstream.answerWith(stream(chunks));
    const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect([isCut, body.subarray(0, sent.length).equals(sent)]).toEqual([true, true]);
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(body)).not.toThrow();
    const whole = eventsOf(sent).events;
    const { events, atBoundary } = eventsOf(body);
    expect([events.slice(0, -1), atBoundary]).toEqual([whole, true]);
    expect(events.at(-1)?.name).toBe('error');
    expect(JSON.parse(events.at(-1)?.data.split('\n').at(-1) ?? '')).toMatchObject({
      type: 'error',
      error: { type: 'api_error', message: 'the upstream ended the answer before it was complete' },
    });
  }
});

it.each(['before its first byte', 'between two events', 'behind a comment'])(
  'one that is torn %s gets nothing but the event',
  async (where) => {
    const sent = TORN_STREAMS.get(where) ?? Buffer.alloc(0);
    upstream.answerWith(stream(oneChunk([sent])));
    const { body } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect(String(body.subarray(sent.length))).toMatch(/^event: error\ndata: \{.*\}\n\n$/);
  },
);

it('costs nothing, wherever it is torn', async () => {
  const before = (await recorded(gateway)).usages.length;
  for (const sent of TORN_STREAMS.values()) {
    upstream.answerWith(stream(oneChunk([sent])));
    await (await postMessage(gateway, { stream: true })).restOrCut();
  }
  await expect
    .poll(async () => (await recorded(gateway)).usages.slice(before))
    .toMatchObject(Array(TORN_STREAMS.size).fill({ outcome: 'upstream_interrupted', billable: false }));
  expect((await recorded(gateway)).debits).toEqual([]);
});
