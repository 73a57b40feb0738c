import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { messageBody, type PostOptions, postMessage, startPost } from '../fixtures/gateway/post-message.ts';
import { openSocket, requestText } from '../fixtures/gateway/raw-socket.ts';
import { TEST_CATALOG, type TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { type Answer, countTokens, failure, head, reset, silence, stream, wait, write } from '../upstream/answer.ts';
import { text } from '../upstream/content.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { gateway, leavingIsSeen, start, tokens, upstream, usagesReach } from './ending-scene.ts';

const prose = 'The committee met on Tuesday to discuss the new water treatment plant, which has been delayed. ';
/** About 19 tokens a sentence; the weights make 15 of it. */
const question = { messages: [{ role: 'user', content: prose.repeat(100) }] };

/** Posts, waits until the upstream has it, and leaves before the head. */
async function leaveBeforeHead(options: PostOptions = {}): Promise<void> {
  const index = upstream.requests.length;
  const post = startPost(gateway, { stream: true, ...options });
  post.answered.catch(() => undefined);
  await upstream.seen(index);
  post.leave();
}

describe('a client that leaves before the head', () => {
  const left = { outcome: 'client_disconnected', source: 'estimated', billable: true };

  it.each<[string, TestGatewayOptions]>([
    ['of a provider that cancels', { provider: { onClientDisconnect: 'cancel' } }],
    ['past the time of a drain', { settings: { drainMs: 100 } }],
  ])('%s pays for the input by its text', async (_how, options) => {
    await start(options);
    upstream.answerWith([silence]);
    await leaveBeforeHead({ body: question });
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ ...left, tokens: { output: 0, cacheRead: 0 } }]);
    expect(usages[0]?.tokens.input).toBeGreaterThan(1_300);
    expect(usages[0]?.tokens.input).toBeLessThan(1_900);
    expect(debits).toMatchObject([{ amount: BigInt(usages[0]?.tokens.input ?? 0) * 3n }]);
  });

  it('by ending its side of the connection alone has left, too', async () => {
    await start({ provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith([silence]);
    const socket = await openSocket(gateway.url);
    socket.end(requestText(gateway.key, messageBody({ body: question })));
    await once(socket, 'close');
    expect((await usagesReach(1)).usages).toMatchObject([left]);
  });

  it('by ending its side alone in the middle of a stream has left, and pays for what its upstream then says', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    const [begin = [], first = [], ...rest] = stream(streamEvents({ tokens }));
    upstream.answerWith([begin, first, wait(gate.promise), ...rest] as Answer);
    const socket = await openSocket(gateway.url);
    socket.write(requestText(gateway.key, messageBody({ stream: true, body: question })));
    await once(socket, 'data');
    socket.end();
    await once(socket, 'close');
    gate.resolve();
    expect((await usagesReach(1)).usages).toMatchObject([{ ...left, source: 'reported', tokens }]);
  });

  it('where the head has come and nothing else pays likewise', async () => {
    await start({ provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith([head(), silence]);
    const answer = await postMessage(gateway, { stream: true, body: question });
    answer.leave();
    const { usages } = await usagesReach(1);
    expect(usages).toMatchObject([left]);
    expect(usages[0]?.tokens.input).toBeGreaterThan(1_300);
  });

  it('of a model that caches by itself pays as though all its input had been read from the cache', async () => {
    await start({ provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith([silence]);
    await leaveBeforeHead({ model: 'opal-automatic', body: question });
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ ...left, tokens: { input: 0, output: 0 } }]);
    expect(usages[0]?.tokens.cacheRead).toBeGreaterThan(1_300);
    // A tenth of the input's price; what is less than a micro-USD is carried.
    expect(debits).toMatchObject([{ amount: (BigInt(usages[0]?.tokens.cacheRead ?? 0) * 3n) / 10n }]);
  });

  it('pays for text above the bound of what is parsed again', async () => {
    await start({ provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith([silence]);
    await leaveBeforeHead({ body: { system: 'x'.repeat(1_200_000) } });
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([left]);
    expect(usages[0]?.tokens.input).toBeGreaterThanOrEqual(180_000);
    expect(usages[0]?.tokens.input).toBeLessThanOrEqual(180_003);
    expect(debits).toMatchObject([{ amount: BigInt(usages[0]?.tokens.input ?? 0) * 3n }]);
  });

  it('pays by the count where the admission has counted', async () => {
    // The bound by bytes does not fit these credits; the count does.
    await start({ provider: { onClientDisconnect: 'cancel' }, creditsMicroUsd: 25_000n });
    upstream.answerWith(({ path }): Answer => (path.includes('count_tokens') ? countTokens(1_777) : [silence]));
    const post = startPost(gateway, { stream: true, maxTokens: 100, body: question });
    post.answered.catch(() => undefined);
    await upstream.seen(1);
    post.leave();
    expect((await usagesReach(1)).usages).toMatchObject([{ ...left, tokens: { input: 1_777 } }]);
  });

  it('under a beta with a window and a price of its own pays by these', async () => {
    const [, medium] = TEST_CATALOG.models;
    const betas = [{ name: 'long-2026-01-01', context_window: 5_000, price: { input: '6.00', output: '22.50' } }];
    const models = [{ ...medium, context_window: 1_000, betas }];
    await start({ provider: { onClientDisconnect: 'cancel' }, catalog: { models } });
    upstream.answerWith([silence]);
    await leaveBeforeHead({ body: question, headers: { 'anthropic-beta': 'long-2026-01-01' } });
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([left]);
    expect(usages[0]?.tokens.input).toBeGreaterThan(1_300);
    expect(debits).toMatchObject([{ amount: BigInt(usages[0]?.tokens.input ?? 0) * 6n }]);
  });

  it('with all drains taken pays for its input at once, and whoever left before is read on', async () => {
    await start({ settings: { drainsMax: 1 } });
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...stream(streamEvents({ tokens }))]);
    await leaveBeforeHead({ body: question });
    await leaveBeforeHead({ body: question });
    const { usages } = await usagesReach(1);
    expect(usages).toMatchObject([{ ...left, tokens: { output: 0 } }]);
    expect(usages[0]?.tokens.input).toBeGreaterThan(1_300);
    const cancelled = await upstream.seen(1);
    await cancelled.over;
    expect(cancelled.leftMs).not.toBeNull();
    gate.resolve();
    expect((await usagesReach(2)).usages[1]).toMatchObject({ ...left, source: 'reported', tokens });
  });

  it.each<[string, Answer]>([
    ['says an error', failure(529)],
    ['breaks off', [reset]],
  ])('pays nothing where its upstream then %s', async (_what, answer) => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...answer]);
    await leaveBeforeHead({ body: question });
    await leavingIsSeen();
    gate.resolve();
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
  });
});

describe('a client that has left', () => {
  it('in the middle of a stream pays for the text that was seen, and for no more than max_tokens', async () => {
    for (const [maxTokens, expected] of [
      [4_000, (output: number) => output > 700 && output < 1_000],
      [50, (output: number) => output === 50],
    ] as const) {
      await gateway?.stop();
      await start({ provider: { onClientDisconnect: 'cancel' } });
      const pieces = Array.from({ length: 500 }, (_, index) =>
        prose.slice((index * 10) % 90, ((index * 10) % 90) + 10),
      );
      const events = streamEvents({ tokens, blocks: [text(...pieces)] }).slice(0, -3);
      upstream.answerWith([head(), ...events.map(write), silence]);
      const answer = await postMessage(gateway, { stream: true, maxTokens });
      for (let got = 0; got < Buffer.concat(events).length; )
        got += (await answer.next())?.length ?? Number.POSITIVE_INFINITY;
      answer.leave();
      const { usages } = await usagesReach(1);
      expect(usages).toMatchObject([{ outcome: 'client_disconnected', source: 'estimated', tokens: { input: 1_000 } }]);
      expect(usages[0]?.tokens.output).toSatisfy(expected);
    }
  });

  it('pays no more than its hold, whatever is estimated', async () => {
    const models = TEST_CATALOG.models.map((one) => ({ ...one, context_window: 1_000 }));
    await start({ provider: { onClientDisconnect: 'cancel' }, catalog: { models } });
    upstream.answerWith([silence]);
    await leaveBeforeHead({ maxTokens: 1, body: question });
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ source: 'estimated', tokens: { input: 1_000 } }]);
    expect(debits[0]?.amount).toBeLessThanOrEqual(usages[0]?.hold ?? 0n);
    expect(debits).toMatchObject([{ leftOut: 0n }]);
  });
});
