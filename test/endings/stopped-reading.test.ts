import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type PostedMessage, type PostOptions, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { delay, head, json, reset, silence, stream, wait, write } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { event, streamEvents } from '../upstream/stream-events.ts';
import { gateway, start, startAgain, tokens, upstream, usagesReach } from './ending-scene.ts';

/** A stream that no socket's buffers take whole: 24 MB of text, then the end with its usage. */
const PIECE = 65_000;
const LONG: readonly Buffer[] = (() => {
  const whole = streamEvents({ tokens, blocks: [text('one')] });
  const delta = { type: 'text_delta', text: 'x'.repeat(PIECE) };
  const piece = event('content_block_delta', { type: 'content_block_delta', index: 0, delta });
  return [...whole.slice(0, 4), ...Array.from({ length: 370 }, () => piece), ...whole.slice(4)];
})();

/** The client reads the head and a piece, and then nothing more. */
async function readNoMore(options: PostOptions = {}): Promise<PostedMessage> {
  const answer = await postMessage(gateway, { stream: true, ...options });
  await answer.next();
  return answer;
}

describe('a client that stops reading', () => {
  it('has left once the time for that is over: the upstream is read to its end and charged as reported', async () => {
    await start({ settings: { clientStallMs: 300 }, provider: { idleMs: 60_000 } });
    upstream.answerWith(stream(LONG));
    const answer = await readNoMore();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'client_disconnected', source: 'reported', billable: true, tokens }]);
    expect(debits).toHaveLength(1);
    expect((await answer.restOrCut()).isCut).toBe(true);
  });

  it.each([
    ['as it is', () => stream(LONG)],
    // All of it comes in a few packets: what is decoded waits for the client.
    ['encoded', () => stream([gzipSync(Buffer.concat(LONG))], { 'content-encoding': 'gzip' })],
  ])('at a provider that cancels pays for what was seen, by its text, where it comes %s', async (_how, answered) => {
    await start({ settings: { clientStallMs: 300 }, provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith(answered());
    const answer = await readNoMore({ maxTokens: 4_000 });
    const { usages } = await usagesReach(1);
    expect(usages).toMatchObject([
      { outcome: 'client_disconnected', source: 'estimated', billable: true, tokens: { input: 1_000, output: 4_000 } },
    ]);
    expect((await answer.restOrCut()).isCut).toBe(true);
  });

  it("is not the upstream's fault when the call's total time ends under it", async () => {
    // Long enough for the client to hold it back first, on any machine.
    await start({ provider: { totalMs: 4_000, idleMs: 3_000 } });
    upstream.answerWith(stream(LONG));
    const answer = await readNoMore();
    expect((await usagesReach(1)).usages).toMatchObject([
      { outcome: 'client_disconnected', source: 'estimated', billable: true, tokens: { input: 1_000 } },
    ]);
    expect((await answer.restOrCut()).isCut).toBe(true);
  });

  it("is not the upstream's fault when the gateway stops under it", async () => {
    await start({ settings: { clientStallMs: 200, shutdownDrainMs: 50 }, provider: { onClientDisconnect: 'drain' } });
    upstream.answerWith([head(), ...LONG.slice(0, -2).map(write), silence]);
    await readNoMore();
    // Dropped after its time, it is drained; the upstream says nothing more, and the gateway does not wait for that.
    await expect.poll(async () => (await upstream.seen(0)).writes.length).toBe(LONG.length - 2);
    await gateway.gateway.stop();
    await startAgain();
    expect((await recorded(gateway)).usages).toMatchObject([
      { outcome: 'client_disconnected', source: 'estimated', billable: true, tokens: { input: 1_000 } },
    ]);
  });

  it('for long is the cause where its upstream breaks off soon after it has read on', async () => {
    let passedMs = 0;
    // Both clocks go on together, so that this is no jump.
    await start({ clock: () => Date.now() + passedMs, settings: { clientStallMs: 60_000 } });
    const gate = Promise.withResolvers<void>();
    const pieces = LONG.slice(0, -2);
    upstream.answerWith([head(), ...pieces.map(write), wait(gate.promise), reset]);
    const answer = await readNoMore();
    const { writes } = await upstream.seen(0);
    const sinceMs = (): number => performance.now() - (writes.at(-1)?.atMs ?? performance.now());
    await expect.poll(sinceMs).toBeGreaterThan(1_000);
    expect(writes.length).toBeLessThan(pieces.length);
    passedMs = 40_000;
    const rest = answer.restOrCut();
    await expect.poll(() => writes.length).toBe(pieces.length);
    gate.resolve();
    expect((await rest).isCut).toBe(true);
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'client_disconnected', billable: true }]);
  });

  it('for a while, and reads on, gets all of it', async () => {
    const idleMs = 2_500;
    await start({ settings: { clientStallMs: 60_000 }, provider: { idleMs } });
    upstream.answerWith(stream(LONG));
    const answer = await readNoMore();
    // It has written nothing for longer than it may be silent: it is not, it is held back.
    const { writes } = await upstream.seen(0);
    const heldMs = (): number => performance.now() - (writes.at(-1)?.atMs ?? performance.now());
    await expect.poll(heldMs).toBeGreaterThan(1.5 * idleMs);
    expect((await answer.rest()).length).toBeGreaterThan(370 * PIECE);
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
  });
});

it('a client that waits for a silent upstream for longer than it may hold an answer back is not cut for that', async () => {
  await start({ settings: { clientStallMs: 100 } });
  upstream.answerWith([delay(1_500), ...json(message({ tokens }))]);
  const answer = await postMessage(gateway);
  expect(answer.status).toBe(200);
  expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
});
