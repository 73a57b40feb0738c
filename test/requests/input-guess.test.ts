import { afterAll, expect, it } from 'vitest';
import { asking, post, refusalOf } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { failure, wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';

/** What a request takes of the input tokens a minute before its input is metered. */
const rateLimits = { paid: { inputTokensPerMinute: 10_000 }, keyPercent: 50 };
const { upstream, gateway } = await startOnUpstream(afterAll, { settings: { rateLimits } });

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
