import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, attemptId, NO_STREAM } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, openAccount, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { cardOf } from '../../fixtures/stripe/stripe-example.ts';
import { StripeServer } from '../../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { runSite } from './stripe-site.ts';

/** Stripe has done what it was asked for, and says so to nobody. */
const ANSWERING = 'while Stripe answers';

type Message = { readonly body: string; readonly signature: string } | null;

const PROGRAM = fileURLToPath(new URL('stripe-main.ts', import.meta.url));
const SAID = { consentedAtMs: Date.now(), by: 'owner@example.com' };
const RELOAD: readonly AccountCommand[] = [
  { type: 'SavePaymentMethod', ...cardOf('pm_ok'), ...SAID },
  {
    ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
    ...{ monthlyCap: usd(60_000_000), ...SAID },
  },
];
const PURCHASE: readonly AccountCommand[] = [
  {
    ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(19_000_000) },
    ...{ price: usd(19_000_000), by: 'owner', nowMs: Date.now() },
  },
];

/** Stripe, and an account that is to buy credits, in a ledger of its own. */
async function scene(commands: readonly AccountCommand[]) {
  const server = endedLater(await StripeServer.start());
  const data = temporaryFolder();
  const begun: AccountEvent[] = [opened, keyIssued(), granted('g', 1_000_000)];
  for (const command of commands) begun.push(...given(...begun).decided(command));
  const path = join(data, 'ledger.db');
  const log = await openSqliteEventLog({ path });
  await log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(begun, recordingBy('test', Date.now())));
  await log.close();
  return {
    server,
    /** In a process of its own, @returns the signal that has ended it. */
    killed: async (killedAt: string, message: Message = null) => {
      const args = [PROGRAM, data, server.url, killedAt, JSON.stringify(message)];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
      server.insteadOfAnswer = killedAt === ANSWERING ? () => void child.kill('SIGKILL') : null;
      const [, signal] = await once(child, 'close');
      server.insteadOfAnswer = null;
      return signal;
    },
    run: (message: Message = null) => runSite({ data, url: server.url, message, at: () => undefined }),
    read: async () => {
      const read = await openSqliteEventLog({ path });
      const events = await Array.fromAsync(readAccountEvents(read, ACCOUNT), ({ event }) => event);
      await read.close();
      expect(faultsOf(events)).toEqual([]);
      const account = openAccount(events);
      expect(openAttempts(account.billing.payments)).toEqual([]);
      expect(server.all('charge').length).toBe(1);
      expect(events.filter(({ type }) => type === 'PaymentSucceeded').length).toBe(1);
      return account;
    },
  };
}

it.each(['after AutoReloadStarted', ANSWERING, 'before PaymentSucceeded', 'after PaymentSucceeded'])(
  'kill -9 %s of a reload leaves it charged once by Stripe and granted once, when somebody has looked again',
  async (instant) => {
    const { killed, run, read } = await scene(RELOAD);
    expect(await killed(instant)).toBe('SIGKILL');
    await run();
    expect((await read()).balance).toBe(20_000_000n);
  },
);

it.each([ANSWERING, 'before PaymentSucceeded'])(
  'kill -9 %s of a purchase leaves one page, paid once and granted once',
  async (instant) => {
    const { server, killed, run, read } = await scene(PURCHASE);
    if (instant === ANSWERING) expect(await killed(instant)).toBe('SIGKILL');
    await run();
    server.pay(server.all('checkout.session')[0]?.id ?? '');
    if (instant !== ANSWERING) expect(await killed(instant)).toBe('SIGKILL');
    await run();
    expect(server.all('checkout.session').length).toBe(1);
    expect((await read()).balance).toBe(20_000_000n);
  },
);

it.each(['before PaymentSucceeded', 'after PaymentSucceeded', 'after PaymentRefunded'])(
  'kill -9 %s of what Stripe tells answers it not at all, and told again it counts once',
  async (instant) => {
    const { server, killed, run, read } = await scene(PURCHASE);
    await run();
    server.pay(server.all('checkout.session')[0]?.id ?? '');
    server.refund(server.all('payment_intent')[0]?.id ?? '', 900);
    const told = server.events.find(({ type }) => type === 'charge.refunded');
    if (told === undefined) throw new Error('Stripe tells of no refund');
    const message = server.signed(told);
    expect(await killed(instant, message)).toBe('SIGKILL');
    for (let times = 0; times < 2; times++) expect(await run(message)).toBe(200);
    expect((await read()).balance).toBe(11_000_000n);
  },
);
