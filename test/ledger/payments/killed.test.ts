import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, NO_STREAM } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, openAccount, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, subscribed } from '../../fixtures/ledger/example-plan-events.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('pursue-main.ts', import.meta.url));

/** An account that is to buy credits by itself, in a ledger of its own. */
function reloading(): Promise<string> {
  const events: AccountEvent[] = [opened, keyIssued(), granted('g', 1_000_000)];
  const said = { consentedAtMs: Date.now(), by: 'owner@example.com' };
  const commands: AccountCommand[] = [
    {
      ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: 'pm', brand: 'visa' },
      ...{ last4: '4242', ...said },
    },
    {
      ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
      ...{ monthlyCap: usd(60_000_000), ...said },
    },
  ];
  for (const command of commands) events.push(...given(...events).decided(command));
  return written(events);
}

async function written(events: readonly AccountEvent[]): Promise<string> {
  const data = temporaryFolder();
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  await log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(events, recordingBy('test', Date.now())));
  await log.close();
  return data;
}

const pursue = (data: string, killedAt: string) => spawnSync(process.execPath, [PROGRAM, data, killedAt]).signal;

it.each(['after AutoReloadStarted', 'after the charge', 'after PaymentSucceeded'])(
  'kill -9 %s of a reload leaves it charged once and granted once, when somebody has looked again',
  async (instant) => {
    const data = await reloading();
    expect(pursue(data, instant)).toBe('SIGKILL');
    expect(pursue(data, '')).toBeNull();
    const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
    const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
    await log.close();
    const account = openAccount(events);
    expect(openAttempts(account.billing.payments)).toEqual([]);
    expect(account.balance).toBe(20_000_000n);
    expect(readFileSync(join(data, 'bank'), 'utf8')).toMatch(/^reload_[0-9a-f]{16}\n$/);
    expect(events.filter(({ type }) => type === 'PaymentSucceeded').length).toBe(1);
  },
);

/** An account whose plan is to be renewed: its first period was paid, and is over. */
const renewing = (): Promise<string> => {
  const begunAt = new Date(Date.now() - 40 * 24 * 3_600_000).toISOString();
  return written([
    opened,
    keyIssued(),
    ...subscribed('starter', begunAt, { catalog: catalogOf(STARTER), provider: 'stripe' }),
  ]);
};

it.each(['after RenewalStarted', 'after the charge', 'after PaymentSucceeded'])(
  'kill -9 %s of a renewal leaves it charged once and granted once, when somebody has looked again',
  async (instant) => {
    const data = await renewing();
    expect(pursue(data, instant)).toBe('SIGKILL');
    expect(pursue(data, '')).toBeNull();
    const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
    const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
    await log.close();
    const { billing, balance } = openAccount(events);
    expect(openAttempts(billing.payments)).toEqual([]);
    expect(balance).toBe(2n * STARTER.credits);
    expect(readFileSync(join(data, 'bank'), 'utf8')).toMatch(/^renewal_\S+\n$/);
    expect(events.filter(({ type }) => type === 'RenewalStarted').length).toBe(2);
    expect(billing.plan?.period?.endMs).toBeGreaterThan(Date.now());
  },
);
