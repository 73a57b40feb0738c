import { describe, expect, it } from 'vitest';
import { type PostedMessage, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { json } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { gateway, start, startAgain, tokens, upstream, usagesReach } from './ending-scene.ts';

/** More than the buffers of two sockets take. */
const LONG = JSON.stringify(message({ tokens, blocks: [text('x'.repeat(20 * 1_024 ** 2))] }));
const untakenNow = (): number => gateway.gateway.process.untaken.count;

/** All of it is there, is billed, and waits for its client, which reads no further than that. */
async function untaken(): Promise<PostedMessage> {
  upstream.answerWith(json(LONG));
  const answered = await postMessage(gateway);
  while ((await recorded(gateway)).usages.length === 0) await answered.next();
  expect(untakenNow()).toBe(1);
  return answered;
}

describe('an answer that is ended, and that its client has not taken yet', () => {
  it('is taken to its end though the gateway stops', async () => {
    await start();
    const answered = await untaken();
    const stopped = gateway.gateway.stop();
    const { body, isCut } = await answered.restOrCut();
    expect([isCut, LONG.endsWith(String(body.subarray(-1_000)))]).toEqual([false, true]);
    await stopped;
    expect(untakenNow()).toBe(0);
    await startAgain();
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
  });

  it('is waited for as long as a stream is, and no longer', async () => {
    await start({ settings: { shutdownDrainMs: 100 } });
    const answered = await untaken();
    await gateway.gateway.stop();
    expect((await answered.restOrCut()).isCut).toBe(true);
  });

  it('is waited for no longer than its client is there', async () => {
    await start({ settings: { shutdownDrainMs: 300_000 } });
    const answered = await untaken();
    const stopped = gateway.gateway.stop();
    answered.leave();
    await stopped;
  });
});
