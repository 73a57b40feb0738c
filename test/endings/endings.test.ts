import { describe, expect, it } from 'vitest';
import { type PostedMessage, postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { failure, hangUp, head, json, raw, reset, silence, stream, wait, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import {
  events,
  gateway,
  me,
  nothingIsHeld,
  partOfStream,
  start,
  startAgain,
  tokens,
  upstream,
  usagesReach,
} from './ending-scene.ts';

const cost = 1_000n * 3_000_000n + 40n * 15_000_000n;

const errorOf = async (answer: PostedMessage) => JSON.parse((await answer.rest()).toString('utf8')).error;

describe('a complete answer', () => {
  it.each([
    ['stream', true],
    ['JSON', false],
  ])('as %s is charged as reported', async (_form, isStream) => {
    await start();
    upstream.answerWith(isStream ? stream(events) : json(message({ tokens })));
    await (await postMessage(gateway, { stream: isStream })).rest();
    const { usages, debits } = await recorded(gateway);
    expect(usages).toMatchObject([{ outcome: 'completed', source: 'reported', billable: true, tokens }]);
    expect(debits).toMatchObject([{ cost, amount: 3_600n }]);
    expect(await me()).toMatchObject({ held_credits: 0, available_credits: 1_000_000_000 - 3_600 });
  });
});

describe('the client leaves', () => {
  it('before the answer begins: the upstream is read to its end and charged as reported', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...stream(events)]);
    const post = startPost(gateway, { stream: true });
    post.answered.catch(() => undefined);
    const seen = await upstream.seen(0);
    post.leave();
    gate.resolve();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'client_disconnected', source: 'reported', tokens }]);
    expect(debits).toMatchObject([{ cost }]);
    await seen.over;
    expect(seen.leftMs).toBeNull();
    await nothingIsHeld();
  });

  it('in the middle of a stream: likewise', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(), ...partOfStream.map(write), wait(gate.promise), ...events.slice(5).map(write)]);
    const answer = await postMessage(gateway, { stream: true });
    await answer.next();
    answer.leave();
    gate.resolve();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'client_disconnected', source: 'reported', tokens }]);
    expect(debits).toMatchObject([{ cost }]);
  });

  it('past the bound of the drain: the upstream is left, what was seen is charged, marked as estimated', async () => {
    await start({ settings: { drainMs: 100 } });
    upstream.answerWith([head(), ...partOfStream.map(write), silence]);
    const answer = await postMessage(gateway, { stream: true, maxTokens: 50 });
    await answer.next();
    answer.leave();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([
      { outcome: 'client_disconnected', source: 'estimated', billable: true, tokens: { input: 1_000 } },
    ]);
    expect(usages[0]?.tokens.output).toBeLessThanOrEqual(50);
    expect(debits).toHaveLength(1);
    const seen = await upstream.seen(0);
    await seen.over;
    expect(seen.leftMs).not.toBeNull();
    await nothingIsHeld();
  });
});

describe('the upstream fails before the first byte', () => {
  it.each([400, 404, 413, 422])('with %i: its message is passed on, nothing is charged', async (status) => {
    await start();
    const body = {
      type: 'error',
      error: { type: 'invalid_request_error', message: `said by the upstream: ${status}` },
    };
    upstream.answerWith(failure(status, body));
    const answer = await postMessage(gateway, { stream: true });
    expect(answer.status).toBe(status === 404 ? 404 : 400);
    expect(answer.headers['x-should-retry']).toBe('false');
    const type = status === 404 ? 'not_found_error' : 'invalid_request_error';
    expect(JSON.parse((await answer.rest()).toString('utf8'))).toEqual({
      type: 'error',
      error: { ...body.error, type },
      request_id: answer.headers['request-id'],
    });
    const { usages, debits } = await recorded(gateway);
    expect(usages).toMatchObject([{ outcome: 'upstream_refused', billable: false, tokens: { input: 0, output: 0 } }]);
    expect(debits).toHaveLength(0);
    await nothingIsHeld();
  });

  it.each([401, 403])('with %i: 502 without detail, for the credential is ours', async (status) => {
    const logLines: string[] = [];
    await start({ logLines });
    upstream.answerWith(
      failure(status, { type: 'error', error: { type: 'authentication_error', message: 'key upstream-secret-key' } }),
    );
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(502);
    expect(await errorOf(answer)).toEqual({
      type: 'api_error',
      message: expect.not.stringContaining('upstream-secret-key'),
    });
    expect(
      logLines
        .map((line) => JSON.parse(line))
        .filter((line) => line.msg === 'an upstream answered with another status than 200'),
    ).toEqual([expect.objectContaining({ level: 50, status, provider: 'test' })]);
  });

  it.each([429, 503, 529])('with %i: 529 with a small retry-after', async (status) => {
    await start();
    upstream.answerWith(failure(status, undefined, { 'retry-after': '3600' }));
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(529);
    expect(answer.headers['retry-after']).toBe('30');
    expect(await errorOf(answer)).toMatchObject({ type: 'overloaded_error' });
  });

  it.each([
    ['500', failure(500)],
    ['502', failure(502)],
    ['a redirect', failure(302)],
    ['a reset', [reset]],
    ['a hang-up', [hangUp]],
    ['bytes that are not HTTP', [raw('garbage\r\n\r\n'), hangUp]],
    [
      'an encoding that nobody can undo',
      [head(200, { 'content-type': 'text/event-stream', 'content-encoding': 'compress' }), write('\u001f')],
    ],
  ])('with %s: 502, recorded and not charged', async (_how, answerOf) => {
    await start();
    upstream.answerWith(answerOf);
    const answer = await postMessage(gateway, { stream: true });
    expect(answer.status).toBe(502);
    expect(await errorOf(answer)).toMatchObject({ type: 'api_error' });
    const { usages, debits } = await recorded(gateway);
    expect(usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
    expect(debits).toHaveLength(0);
    await nothingIsHeld();
  });

  it.each(['zstd', 'br', 'gzip, br', 'br, gzip'])(
    'with an answer in %s: what is logged is that it answered',
    async (encoding) => {
      const logLines: string[] = [];
      await start({ logLines });
      upstream.answerWith([
        head(200, { 'content-type': 'application/json', 'content-encoding': encoding }),
        write('x'),
      ]);
      expect((await postMessage(gateway)).status).toBe(502);
      expect(
        logLines.map((line) => JSON.parse(line)).filter((line) => line.msg.startsWith('an upstream')),
      ).toMatchObject([
        { msg: 'an upstream answered what cannot be read', contentEncoding: encoding, provider: 'test' },
      ]);
    },
  );

  it('with bytes that are not in the encoding that it says: the same is logged, and told', async () => {
    const logLines: string[] = [];
    await start({ logLines });
    upstream.answerWith([
      head(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
      write('{"type":"message"}'),
    ]);
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(502);
    expect((await errorOf(answer)).message).toBe('the model gave an answer that cannot be read; try again');
    expect(
      logLines
        .map((line) => JSON.parse(line))
        .filter((line) => /^an upstream (answered|did not answer)/.test(line.msg)),
    ).toMatchObject([
      { msg: 'an upstream answered what cannot be read', error: 'the answer is not the gzip that it says' },
    ]);
  });

  it('with silence: 502 when the time for the first byte is over', async () => {
    await start({ provider: { firstByteMs: 150 } });
    upstream.answerWith([silence]);
    const answer = await postMessage(gateway, { stream: true });
    expect(answer.status).toBe(502);
    expect((await recorded(gateway)).usages).toMatchObject([{ outcome: 'upstream_refused' }]);
  });

  it('by not being there: 502, and nothing is recorded, for no upstream has seen the request', async () => {
    await start();
    await upstream.close();
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(502);
    expect((await recorded(gateway)).usages).toHaveLength(0);
    await nothingIsHeld();
  });

  it('at its first place: the next one answers, and the request is recorded once, there', async () => {
    await start();
    upstream.answerWith(({ body }) => (body.includes('first-place') ? failure(529) : stream(events)));
    const answer = await postMessage(gateway, { stream: true, model: 'opal-twice' });
    expect(answer.status).toBe(200);
    await answer.rest();
    const { usages, debits } = await recorded(gateway);
    expect(usages).toMatchObject([{ outcome: 'completed', upstream: { model: 'second-place' } }]);
    expect(debits).toHaveLength(1);
    expect(upstream.requests).toHaveLength(2);
  });

  it.each([
    [529, 401, 529, '2'],
    [500, 401, 502, '1'],
    [500, 529, 529, '2'],
    [403, 401, 502, null],
  ])('at both its places, by %i and %i: told alike in either order', async (one, other, status, retryAfter) => {
    await start();
    for (const [first, second] of [
      [one, other],
      [other, one],
    ] as const) {
      upstream.answerWith(({ body }) => failure(body.includes('first-place') ? first : second));
      const answer = await postMessage(gateway, { model: 'opal-twice' });
      await answer.rest();
      const { 'x-should-retry': shouldRetry, 'retry-after': after = null } = answer.headers;
      expect([answer.status, shouldRetry, after]).toEqual([status, String(retryAfter !== null), retryAfter]);
    }
    expect((await recorded(gateway)).usages).toHaveLength(2);
  });
});

describe('the gateway stops', () => {
  it('after the streams under way have ended, with all of it in the ledger', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(), ...partOfStream.map(write), wait(gate.promise), ...events.slice(5).map(write)]);
    const answer = await postMessage(gateway, { stream: true });
    await answer.next();
    const stopped = gateway.gateway.stop();
    await expect(postMessage(gateway)).rejects.toThrow();
    gate.resolve();
    await answer.rest();
    await stopped;
    await startAgain();
    expect((await recorded(gateway)).usages).toMatchObject([{ outcome: 'completed', tokens }]);
  });

  it('and cuts what has not ended within its bound', async () => {
    await start({ settings: { shutdownDrainMs: 100 } });
    upstream.answerWith([head(), ...partOfStream.map(write), silence]);
    const answer = await postMessage(gateway, { stream: true });
    await answer.next();
    const stopped = gateway.gateway.stop();
    const { body, isCut } = await answer.restOrCut();
    expect(isCut).toBe(true);
    expect(body.toString('utf8')).toContain('shutting down');
    await stopped;
    await startAgain();
    expect((await recorded(gateway)).usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: false }]);
  });
});
