import pino from 'pino';
import { expect, it } from 'vitest';
import type { TellingProvider } from '../../ledger/payments/payment-provider.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

/** Nothing can be written down, as where another program has locked the log, until it is told to. */
function scene({ answerMs = 1 } = {}) {
  const locked = Promise.withResolvers<null>();
  let looked = 0;
  const provider = {
    ...{ name: 'stripe', kinds: { payment: 'p', consent: 'c' }, about: () => ({ kind: 'p', id: 'pi_1' }) },
    factsOf: () => {
      looked++;
      return locked.promise;
    },
  } as unknown as TellingProvider;
  const logLines: string[] = [];
  const logger = pino({}, { write: (line: string) => void logLines.push(line) });
  const parts = { log: new MemoryEventLog(), accounts: new AccountViews(), clock: Date.now, mayWrite: () => true };
  const webhooks = new PaymentWebhooks({ ...parts, product: 'gateway', provider, logger, answerMs });
  const hear = (count: number): Promise<number[]> =>
    Promise.all(Array.from({ length: count }, async () => (await webhooks.hear(Buffer.from('{}'), '')).status));
  return { hear, webhooks, logLines, looked: () => looked, unlock: () => locked.resolve(null) };
}

it('a message that cannot be written down in time is answered 503 by then, and gives its place to another', async () => {
  const { hear, webhooks, logLines, looked, unlock } = scene();
  for (let times = 0; times < 3; times++) expect(await hear(16)).toEqual(Array(16).fill(503));
  expect(looked()).toBe(48);
  expect(logLines.filter((line) => line.includes('not written down in time')).length).toBe(48);
  unlock();
  await webhooks.close();
  expect(await hear(16)).toEqual(Array(16).fill(200));
});

it('what goes on after its answer is bounded, too', async () => {
  const { hear, looked, unlock, webhooks } = scene();
  for (let times = 0; times < 6; times++) expect(await hear(16)).toEqual(Array(16).fill(503));
  expect(looked()).toBe(64);
  unlock();
  await webhooks.close();
  expect(await hear(1)).toEqual([200]);
});
