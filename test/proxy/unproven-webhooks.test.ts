import pino from 'pino';
import { expect, it } from 'vitest';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { stripeScene } from '../fixtures/stripe/stripe-example.ts';

it('messages that nobody has proven are told of once a minute, with how many there were', async () => {
  const { time, provider } = await stripeScene();
  const counts: number[] = [];
  const logger = pino({}, { write: (line: string) => void counts.push(JSON.parse(line).count) });
  const webhooks = new PaymentWebhooks({
    ...{ log: new MemoryEventLog(), accounts: new AccountViews(), product: 'gateway', provider, logger },
    ...{ clock: () => time.nowMs, mayWrite: () => true },
  });
  const hear = async (times: number): Promise<void> => {
    for (let at = 0; at < times; at++)
      expect(await webhooks.hear(Buffer.from('{}'), 't=1,v1=00')).toMatchObject({ status: 400 });
  };
  await hear(3);
  time.nowMs += 59_999;
  await hear(1);
  expect(counts).toEqual([1]);
  time.nowMs += 1;
  await hear(2);
  expect(counts).toEqual([1, 4]);
  // A clock that was set back is no reason to be silent for long.
  time.nowMs -= 3_600_000;
  await hear(1);
  expect(counts).toEqual([1, 4, 2]);
});
