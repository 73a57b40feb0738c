import { describe, expect, it } from 'vitest';
import { type PostedMessage, postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { type Answer, end, hangUp, head, json, reset, silence, wait, write } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { gateway, me, start, startAgain, tokens, upstream } from './ending-scene.ts';

const MIB = 1024 * 1024;
const whole = JSON.stringify(message({ tokens }));
const JSON_HEADERS = { 'content-type': 'application/json' };
const withLength = { ...JSON_HEADERS, 'content-length': whole.length };

async function isCleanError({ status, headers, restOrCut }: PostedMessage, what = ''): Promise<void> {
  const { body } = await restOrCut();
  expect(headers['request-id'], what).toMatch(/./);
  expect([status, headers['content-type'], headers['x-should-retry']], what).toEqual([
    502,
    'application/json; charset=utf-8',
    'true',
  ]);
  expect(JSON.parse(String(body)), what).toEqual({
    type: 'error',
    error: { type: 'api_error', message: expect.stringContaining('the model') },
    request_id: headers['request-id'],
  });
}

async function nothingIsCharged(times = 1): Promise<void> {
  const free = Array(times).fill({ outcome: 'upstream_interrupted', billable: false });
  await expect.poll(async () => (await recorded(gateway)).usages).toMatchObject(free);
  expect((await recorded(gateway)).debits).toEqual([]);
  expect(await me()).toMatchObject({ held_credits: 0, available_credits: 1_000_000_000 });
}

describe('a JSON answer that is not whole, or that nobody can read', () => {
  const broken: readonly (readonly [string, Answer])[] = [
    ['a page of HTML', json('<html><h1>It works!</h1></html>', { headers: { 'content-type': 'text/html' } })],
    ['a page of HTML that says it is JSON', json('<html></html>')],
    ['JSON that is cut', json(whole.slice(0, -1))],
    ['an empty body', json('')],
    ['an empty body without a length', [head(200, JSON_HEADERS), end]],
    ['a list', json([message({ tokens })])],
    ['an error under the status 200', json({ type: 'error', error: { type: 'api_error', message: 'no' } })],
    ['a reset in the middle', [head(200, withLength), write(whole.slice(0, 50)), reset]],
    ['a hang-up in the middle', [head(200, withLength), write(whole.slice(0, 50)), hangUp]],
    ['a hang-up in the middle, without a length', [head(200, JSON_HEADERS), write(whole.slice(0, 50)), hangUp]],
    [
      'a reset a byte before its announced length',
      [head(200, { ...withLength, 'content-length': whole.length + 1 }), write(whole), reset],
    ],
    ['a reset behind the head', [head(200, withLength), reset]],
  ];

  it('is a clean 502, and costs nothing, also where interrupted answers are charged', async () => {
    await start({ settings: { chargeInterrupted: 'reported' } });
    for (const [what, answer] of broken) {
      upstream.answerWith(answer);
      await isCleanError(await postMessage(gateway), what);
    }
    await nothingIsCharged(broken.length);
  });

  it('for its silence is a 502 that says so', async () => {
    await start({ provider: { idleMs: 150 } });
    upstream.answerWith([head(200, withLength), write(whole.slice(0, 50)), silence]);
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(502);
    expect(String(await answer.rest())).toContain('did not answer in time');
    await nothingIsCharged();
  });

  it.each<[string, Answer]>([
    ['announced', [head(200, { ...JSON_HEADERS, 'content-length': 64 * MIB + 1 }), silence]],
    ['that comes', [head(200, JSON_HEADERS), ...Array(65).fill(write('x'.repeat(MIB))), silence]],
  ])('for its length %s is a 502 at once, and its upstream is left', async (_how, answer) => {
    await start();
    upstream.answerWith(answer);
    await isCleanError(await postMessage(gateway));
    await (await upstream.seen(0)).over;
    await nothingIsCharged();
  });

  it('at its first place is answered by the next, and is recorded once, there', async () => {
    await start();
    upstream.answerWith(({ body }) =>
      body.includes('first-place') ? [head(200, withLength), write(whole.slice(0, 50)), reset] : json(whole),
    );
    const answer = await postMessage(gateway, { model: 'opal-twice' });
    expect([answer.status, String(await answer.rest())]).toEqual([200, whole]);
    const { usages, debits } = await recorded(gateway);
    expect(usages).toMatchObject([{ outcome: 'completed', tokens, upstream: { model: 'second-place' } }]);
    expect(debits).toHaveLength(1);
  });

  it('when the gateway stops is a 502 that says so', async () => {
    await start({ settings: { shutdownDrainMs: 100, chargeInterrupted: 'reported' } });
    upstream.answerWith([head(200, withLength), write(whole.slice(0, -9)), silence]);
    const post = startPost(gateway);
    await expect.poll(async () => (await upstream.seen(0)).writes.length).toBe(1);
    const stopped = gateway.gateway.stop();
    const answer = await post.answered;
    expect(answer.status).toBe(502);
    expect(String(await answer.rest())).toContain('shutting down');
    await stopped;
    await startAgain();
    expect((await recorded(gateway)).usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: false }]);
  });
});

describe('a JSON answer that is whole', () => {
  const long = JSON.stringify(message({ tokens, blocks: [text('x'.repeat(3 * MIB))] }));
  const inPieces = (body: string): Answer => [
    head(200, JSON_HEADERS),
    ...Array.from({ length: 30 }, (_, index) =>
      write(body.slice(Math.ceil((index * body.length) / 30), Math.ceil(((index + 1) * body.length) / 30))),
    ),
  ];

  it.each<[string, string, Answer]>([
    ['with its length', whole, json(whole)],
    ['in pieces, without a length', whole, inPieces(whole)],
    ['long, with its length', long, json(long)],
    ['long, in pieces', long, inPieces(long)],
    ['whose connection is reset behind it', whole, [head(200, JSON_HEADERS), write(whole), reset]],
  ])('goes out byte for byte: %s', async (_how, body, answer) => {
    await start();
    upstream.answerWith(answer);
    const got = await postMessage(gateway);
    expect(got.status).toBe(200);
    expect((await got.rest()).equals(Buffer.from(body))).toBe(true);
    await expect
      .poll(async () => (await recorded(gateway)).usages)
      .toMatchObject([{ outcome: 'completed', source: 'reported', billable: true, tokens }]);
  });

  it('shows nothing of itself before it is whole', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(200, withLength), write(whole.slice(0, -1)), wait(gate.promise), write(whole.slice(-1))]);
    const post = startPost(gateway);
    let isAnswered = false;
    void post.answered.then(() => {
      isAnswered = true;
    });
    await expect.poll(async () => (await upstream.seen(0)).writes.length).toBe(1);
    for (let round = 0; round < 5; round++) await fetch(`${gateway.url}/healthz`);
    expect(isAnswered).toBe(false);
    gate.resolve();
    expect(String(await (await post.answered).rest())).toBe(whole);
  });

  it('whose client leaves before that is read to its end and charged as reported', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(200, withLength), write(whole.slice(0, 99)), wait(gate.promise), write(whole.slice(99))]);
    const post = startPost(gateway);
    post.answered.catch(() => undefined);
    await expect.poll(async () => (await upstream.seen(0)).writes.length).toBe(1);
    post.leave();
    for (let round = 0; round < 5; round++) await fetch(`${gateway.url}/healthz`);
    gate.resolve();
    await expect
      .poll(async () => (await recorded(gateway)).usages)
      .toMatchObject([{ outcome: 'client_disconnected', source: 'reported', billable: true, tokens }]);
  });

  it('counts in the budget of bodies while it is kept, and goes out as it comes where that has no room', async () => {
    const MAX = 32 * MIB;
    await start({ settings: { bodies: { maxBytes: MAX, maxBytesPerAccount: MAX } } });
    const body = JSON.stringify(message({ tokens, blocks: [text('x'.repeat(MAX + MIB))] }));
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(200, JSON_HEADERS), write(body.slice(0, -9)), wait(gate.promise), write(body.slice(-9))]);
    const answer = await postMessage(gateway);
    gate.resolve();
    expect([answer.status, (await answer.rest()).equals(Buffer.from(body))]).toEqual([200, true]);
    await expect.poll(async () => (await recorded(gateway)).usages).toMatchObject([{ outcome: 'completed', tokens }]);
    upstream.answerWith(json(whole));
    expect(String(await (await postMessage(gateway)).rest())).toBe(whole);
  });
});
