import { afterAll, beforeAll, expect, it } from 'vitest';
import { asking, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { openAccount } from '../../fixtures/gateway/open-account.ts';
import { startTestGateway, type TestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { failure, wait } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import { startUpstream, type Upstream } from '../../upstream/upstream.ts';

/** What a request takes of the input tokens a minute before its input is metered. */
let upstream: Upstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const rateLimits = { paid: { inputTokensPerMinute: 10_000 }, keyPercent: 50 };
  gateway = await startTestGateway({ upstreamUrl: upstream.url, settings: { rateLimits } });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const FILE = { type: 'document', source: { type: 'file', file_id: 'file_1' } };

it.each([
  ['nothing that adds to it', {}, 'x'],
  ['a field that nobody knows', { some_field: 1 }, 'x'],
  ['a file of the provider', {}, [FILE]],
])('is guessed from the bytes, with %s in the request', async (_what, more, content) => {
  const gate = Promise.withResolvers<void>();
  upstream.answerWith([wait(gate.promise), ...failure(500)]);
  const caller = await openAccount(gateway, { credits: 1_000_000_000n });
  const seen = upstream.seen(upstream.requests.length);
  const messages = [
    { role: 'user', content: 'x'.repeat(20_000) },
    { role: 'user', content },
  ];
  const ask = () => post(caller, '/v1/messages', asking('opal-medium', { messages, ...more }));
  const first = ask();
  await seen;
  upstream.answerWith(defaultAnswer);
  expect(refusalOf(await ask(), 429)).toMatch(/^the key's limit of 5000 input tokens a minute is reached/);
  gate.resolve();
  await first;
});
