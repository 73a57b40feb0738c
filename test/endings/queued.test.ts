import { beforeEach, describe, expect, it } from 'vitest';
import { keyId } from '../../contracts/ids.ts';
import { postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { failure, head, stream, wait } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { gateway, heldCredits, start, upstream } from './ending-scene.ts';

/** A request whose provider has one connection, which another request has: nothing of it has gone upstream. */
let first: Promise<unknown>;
let endFirst: () => void;

describe('a request that waits for a connection to its provider', () => {
  beforeEach(async () => {
    await start({ provider: { connections: 1 } });
    const ending = Promise.withResolvers<void>();
    endFirst = ending.resolve;
    const [begun, ...more] = stream(streamEvents());
    upstream.answerWith([begun ?? head(), wait(ending.promise), ...more]);
    first = (await postMessage(gateway, { stream: true })).rest();
  });

  it('holds nothing any more once its client has left, and never goes upstream', async () => {
    const ofFirst = await heldCredits();
    const second = startPost(gateway, { stream: true });
    second.answered.catch(() => undefined);
    await expect.poll(heldCredits).toBe(2 * ofFirst);
    second.leave();
    await expect.poll(heldCredits).toBe(ofFirst);
    endFirst();
    await first;
    await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(1);
    expect(upstream.requests.length).toBe(1);
  });

  it('is refused where its key has been revoked meanwhile, and never goes upstream', async () => {
    const { key, keyId: revoked } = await gateway.issueKey();
    const ofFirst = await heldCredits();
    const second = startPost(gateway, { stream: true, key });
    await expect.poll(heldCredits).toBe(2 * ofFirst);
    await gateway.command({ type: 'RevokeKey', keyId: keyId(revoked), nowMs: Date.now() });
    endFirst();
    await first;
    expect((await second.answered).status).toBe(401);
    await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(1);
    await expect.poll(heldCredits).toBe(0);
    expect(upstream.requests.length).toBe(1);
  });
});

it('a request whose client leaves while its second place is waited for, after the first has failed, costs nothing', async () => {
  await start({ provider: { connections: 1 } });
  const failing = Promise.withResolvers<void>();
  const ending = Promise.withResolvers<void>();
  upstream.answerWith(({ body }) =>
    body.includes('first-place')
      ? [wait(failing.promise), ...failure(529)]
      : [wait(ending.promise), ...stream(streamEvents())],
  );
  const left = startPost(gateway, { stream: true, model: 'opal-twice' });
  left.answered.catch(() => undefined);
  await upstream.seen(0);
  const ofLeft = await heldCredits();
  // It has the connection once the first place has failed, and the second place waits behind it.
  const other = startPost(gateway, { stream: true });
  await expect.poll(heldCredits).toBeGreaterThan(ofLeft);
  const ofOther = (await heldCredits()) - ofLeft;
  failing.resolve();
  await upstream.seen(1);
  left.leave();
  await expect.poll(heldCredits).toBe(ofOther);
  ending.resolve();
  await (await other.answered).rest();
  const { usages } = await recorded(gateway);
  expect(usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }, { outcome: 'completed' }]);
  expect(upstream.requests.length).toBe(2);
});
