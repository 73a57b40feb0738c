import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { grantId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { lastMonthOver, monthOf } from '../../ledger/account/month.ts';
import { Holds } from '../../proxy/holds.ts';
import { StatementCloser } from '../../proxy/statement-closer.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { doctor } from './doctored.ts';

const DAY_MS = 86_400_000;

const closerOf = (gateway: TestGateway, clock: () => number): StatementCloser =>
  endedLater(
    new StatementCloser({
      ...{ log: gateway.log, accounts: gateway.gateway.process.projections.accounts, holds: new Holds() },
      ...{ clock, graceMs: LIMITS.statementGraceMs, mayWrite: () => true, logger: pino({ level: 'silent' }) },
    }),
  );

const foundOf = async (gateway: TestGateway) => {
  await gateway.events();
  await gateway.gateway.process.projections.whenWritten();
  return (await doctor(join(gateway.data, 'gateway.json'))).of('statements');
};

it('accounts whose month should have been closed are told, until it is', async () => {
  const clock = { nowMs: Date.now() - 80 * DAY_MS };
  const month = monthOf(clock.nowMs);
  const gateway = await startTestGateway({ clock: () => clock.nowMs });
  const found = () => foundOf(gateway);
  const given = async (effectiveAtMs: number) => {
    const { accountId } = await openAccount(gateway);
    const amounts = { amount: microUsd(5n), costBasis: microUsd(0n), priority: 1, effectiveAtMs, expiresAtMs: null };
    await gateway.command({ type: 'GrantCredits', grantId: grantId('g'), source: 'promotion', ...amounts }, accountId);
    return accountId;
  };
  const late = [gateway.accountId, await given(clock.nowMs)].toSorted();
  clock.nowMs = Date.now();
  // Of this month there is nothing to close yet.
  await given(clock.nowMs);
  expect(await found()).toMatchObject({
    state: 'warn',
    says: `a month of 2 accounts is not closed in time: ${late.map((id) => `${id} (${month})`).join(', ')}`,
    advice: expect.stringContaining('the log of the gateway'),
  });
  const closer = closerOf(gateway, () => clock.nowMs);
  expect(await closer.closeDue()).toBe(2);
  expect(lastMonthOver(clock.nowMs) > month).toBe(true);
  expect(await found()).toMatchObject({ state: 'ok', says: 'no month is left to close' });
});

it('one of which credits alone have ended in the month is told, too', async () => {
  const clock = { nowMs: Date.now() - 150 * DAY_MS };
  const gateway = await startTestGateway({ clock: () => clock.nowMs });
  const expiresAtMs = clock.nowMs + 70 * DAY_MS;
  const amounts = {
    amount: microUsd(5n),
    costBasis: microUsd(0n),
    priority: 1,
    effectiveAtMs: clock.nowMs,
    expiresAtMs,
  };
  await gateway.command({ type: 'GrantCredits', grantId: grantId('g'), source: 'promotion', ...amounts });
  const closer = closerOf(gateway, () => clock.nowMs);
  clock.nowMs += 40 * DAY_MS;
  expect(await closer.closeDue()).toBe(1);
  clock.nowMs = Date.now();
  const says = `a month of 1 account is not closed in time: ${gateway.accountId} (${monthOf(expiresAtMs)})`;
  expect(await foundOf(gateway)).toMatchObject({ state: 'warn', says });
  expect(await closer.closeDue()).toBe(1);
  expect(await foundOf(gateway)).toMatchObject({ state: 'ok' });
});
