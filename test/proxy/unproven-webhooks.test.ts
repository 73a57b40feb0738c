import { createHmac } from 'node:crypto';
import pino from 'pino';
import { expect, it } from 'vitest';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { stripeScene } from '../fixtures/stripe/stripe-example.ts';
import { WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';

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

it('a message that is proven and cannot be read is refused, for no repetition mends it, and the log names what of it', async () => {
  const { time, provider, server } = await stripeScene();
  const told: unknown[] = [];
  const logger = pino({}, { write: (line: string) => void told.push(JSON.parse(line)) });
  const webhooks = new PaymentWebhooks({
    ...{ log: new MemoryEventLog(), accounts: new AccountViews(), product: 'gateway', provider, logger },
    ...{ clock: () => time.nowMs, mayWrite: () => true },
  });
  const hear = (body: string) => {
    const at = Math.floor(time.nowMs / 1_000);
    const v1 = createHmac('sha256', WEBHOOK_SECRET).update(`${at}.${body}`).digest('hex');
    return webhooks.hear(Buffer.from(body), `t=${at},v1=${v1}`);
  };
  const object = { object: 'payment_intent', id: 'a secret' };
  for (const [body, reason] of [
    ['{{{', 'it is not JSON'],
    ['[]', 'a message is not of a form that is known: all of it'],
    ['{"type":7}', 'a message is not of a form that is known: type'],
    [
      JSON.stringify({ type: 'payment_intent.succeeded', data: { object } }),
      'payment_intent.succeeded is not of a form that is known: data.object.id',
    ],
  ] as const) {
    expect(await hear(body)).toEqual({ status: 400, says: reason });
    expect(told.splice(0)).toEqual([
      expect.objectContaining({ level: 50, reason, msg: expect.stringContaining('cannot be read') }),
    ]);
  }
  expect(await hear('{"type":"ping"}')).toMatchObject({ status: 200 });
  expect([told, server.asked]).toEqual([[], []]);
});

it('a message that nobody has proven is not parsed: what its signature lacks is said, whatever the body is', async () => {
  const { time, provider, server } = await stripeScene();
  const told: unknown[] = [];
  const logger = pino({}, { write: (line: string) => void told.push(JSON.parse(line)) });
  const webhooks = new PaymentWebhooks({
    ...{ log: new MemoryEventLog(), accounts: new AccountViews(), product: 'gateway', provider, logger },
    ...{ clock: () => time.nowMs, mayWrite: () => true },
  });
  const at = Math.floor(time.nowMs / 1_000);
  const ofOther = (body: string): string =>
    `t=${at},v1=${createHmac('sha256', 'whsec_of_another').update(`${at}.${body}`).digest('hex')}`;
  for (const body of [
    '{{{',
    '',
    '[]',
    '{"type":7}',
    '['.repeat(100_000),
    `{"type":"ping","data":${'{"a":'.repeat(9_999)}`,
  ])
    for (const [signature, reason] of [
      ['', 'it has no signature'],
      ['v1=00', 'its signature names no time'],
      [ofOther(body), 'its signature is by none of the secrets'],
    ] as const)
      expect(await webhooks.hear(Buffer.from(body), signature)).toEqual({ status: 400, says: reason });
  // Once a minute, as what is not proven.
  expect(told).toEqual([expect.objectContaining({ level: 40, reason: 'it has no signature' })]);
  expect(server.asked).toEqual([]);
});
