import { expect, it } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { grantId, keyId, requestId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { heldBefore } from '../../proxy/held-before.ts';
import { Holds } from '../../proxy/holds.ts';
import { ACCOUNT, KEY, ms, requestOf, usd } from '../fixtures/ledger/example-account.ts';
import { scene } from './webhook-scene.ts';

const HOUR_MS = 3_600_000;
const ENDS = '2026-11-06T13:00:00.000Z';
const over: AccountEvent = {
  type: 'CreditsExpired',
  data: { grantId: grantId('ends'), amount: usd(5), expiredAt: ENDS },
};
const holding = (startedAt: string, amount = 1n): Holds => {
  const holds = new Holds();
  const of = { accountId: ACCOUNT, keyId: KEY, month: '2026-11', leaseId: null };
  holds.place(requestOf(1), { ...of, amount: microUsd(amount), startedAtMs: ms(startedAt) });
  return holds;
};

it('what is left of a grant is not written off while a request from before its end is not settled', () => {
  const before = '2026-11-06T12:59:59.999Z';
  expect(heldBefore(holding(before), ACCOUNT, [over])).toMatchObject({ type: 'refused', code: 'not_written_off' });
  expect(heldBefore(holding(ENDS), ACCOUNT, [over])).toBe(null);
  expect(heldBefore(holding(before, 0n), ACCOUNT, [over])).toBe(null);
  expect(heldBefore(holding(before), ACCOUNT, [{ type: 'AccountSuspended', data: { reason: 'unpaid' } }])).toBe(null);
});

it('a dispute that is won gives nothing back to such a grant, and does once that request is settled, however late it is told', async () => {
  let offMs = 0;
  const clock = () => Date.now() + offMs;
  const { server, gateway, begin, tell, place, account } = await scene({ clock });
  server.pay(await begin());
  await tell('payment_intent.succeeded');
  await gateway.command({
    ...{ type: 'GrantCredits', grantId: grantId('ends'), source: 'promotion', amount: usd(10_000_000) },
    ...{ costBasis: usd(0), priority: 200, effectiveAtMs: clock(), expiresAtMs: clock() + HOUR_MS },
  });
  // Of what is disputed so much is spent, and the other grant pays it.
  await gateway.command({
    ...{ type: 'AdjustBalance', adjustmentId: grantId('down'), direction: 'down', amount: usd(5_000_000) },
    ...{ reason: 'spent', actor: 'operator', nowMs: clock() },
  });
  const intent = String(server.all('payment_intent')[0]?.id);
  const { id } = server.dispute(intent, 2_000);
  expect(await tell('charge.dispute.created')).toBe(200);
  const { holds } = gateway.gateway.process;
  const of = { accountId: gateway.accountId, keyId: keyId(KEY), month: '2026-11', leaseId: null };
  holds.place(requestId('req_waits'), { ...of, amount: microUsd(1n), startedAtMs: clock() });
  offMs = 4 * HOUR_MS;
  server.closeDispute(id, 'won');
  const won = server.events.at(-1);
  if (won === undefined) throw new Error('Stripe tells of it');
  const before = account().balance;
  const told = [await server.deliver(place, won), account().balance];
  // A gateway that is stopped waits for it.
  holds.release(requestId('req_waits'));
  expect(told).toEqual([503, before]);
  expect(await server.deliver(place, won)).toBe(200);
  expect(account().balance).toBeGreaterThan(before);
});
