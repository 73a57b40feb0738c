import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, attemptId, grantId } from '../../../contracts/ids.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import type { Notice, TellingProvider } from '../../../ledger/payments/payment-provider.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { PaymentWebhooks } from '../../../proxy/payment-webhooks.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, grant, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { NOTHING_SAVED, STARTED_MS, stripeAttempt, stripeScene } from '../../fixtures/stripe/stripe-example.ts';
import type { StripeServer } from '../../fixtures/stripe/stripe-server.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { scheduled } from './scheduled-bank.ts';

/** What Stripe tells of money that went back, heard by processes whose questions and appends come in any order. */

const CENT = 10_000n;
const PRICE = usd(20_000_000);
const PAID_CENTS = 2_000;
const bought = attemptId('bought');
const start: AccountCommand = {
  ...{ type: 'StartPurchase', attemptId: bought, provider: 'stripe', amount: PRICE, price: PRICE },
  ...{ by: 'owner@example.com', nowMs: STARTED_MS },
};

const ACTS = ['refund', 'refund fails', 'dispute', 'lose', 'win'] as const;
type Act = (typeof ACTS)[number];

/** What people do at Stripe; nothing where there is nothing to do it to. */
function happenAt(server: StripeServer, intent: string, what: Act): void {
  const refunds = server.all('refund');
  const made = refunds.filter(({ status }) => status === 'succeeded');
  const [dispute] = server.all('dispute');
  if (what === 'refund' && 500 * (made.length + 1) <= PAID_CENTS) server.refund(intent, 500);
  const last = made.at(-1);
  if (what === 'refund fails' && last !== undefined) server.change(last.id, { status: 'failed' }, 'refund.failed');
  if (what === 'dispute' && dispute === undefined) server.dispute(intent, 800);
  if ((what === 'lose' || what === 'win') && dispute !== undefined) {
    const status = what === 'win' ? 'won' : 'lost';
    if (dispute.status !== status) server.closeDispute(dispute.id, status);
  }
}

const returnsAt = (server: StripeServer): string[] =>
  [...server.all('refund'), ...server.all('dispute')].map(({ id }) => id);

/** By Stripe's own books: what was paid, less what went back, and what is disputed or lost; a part of it may be both. */
function leftAt(server: StripeServer): bigint {
  const gone = [...server.all('refund'), ...server.all('dispute')]
    .filter(({ status }) => status !== 'failed' && status !== 'won')
    .reduce((sum, { amount }) => sum + BigInt(Number(amount)), 0n);
  const left = BigInt(PAID_CENTS) - gone;
  return left > 0n ? left * CENT : 0n;
}

/** Of a dispute, one after another: those of which its messages tell. */
const endsAt = (server: StripeServer): string[] =>
  server.events
    .filter(({ type }) => type === 'charge.dispute.closed')
    .map(({ data }) => String((data as { object: { status: string } }).object.status));

function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let from = 0;
  return some.every((one) => {
    from = all.indexOf(one, from) + 1;
    return from > 0;
  });
}

type Told = StripeServer['events'][number];

/** Stripe, with a payment that an account has made, and a process that hears each message of its. */
async function paidScene() {
  const { server, time, provider } = await stripeScene();
  const attempt = stripeAttempt({ kind: 'purchase', attemptId: bought });
  const ask = () => provider.ask({ accountId: ACCOUNT, attempt, ...NOTHING_SAVED });
  await ask();
  server.pay(String(server.all('checkout.session')[0]?.id));
  const paid = await ask();
  if (paid.type !== 'paid') throw new Error('it is not paid');
  const life: AccountEvent[] = [opened];
  const commands: AccountCommand[] = [
    start,
    { ...paid, type: 'RecordPayment', attemptId: bought, provider: 'stripe', nowMs: STARTED_MS },
  ];
  for (const command of commands) life.push(...given(...life).decided(command));
  const log = new MemoryEventLog();
  log.write(accountStream(ACCOUNT), encodeEvents(life, recordingBy('test', STARTED_MS)));
  const { name, kinds } = provider;
  const about = provider.about.bind(provider);
  return {
    ...{ server, provider, log, intent: paid.paymentId },
    /** @param factsOf what Stripe answers, as that process comes to know it */
    hear: async (event: Told, factsOf: TellingProvider['factsOf'], through: EventLog = log): Promise<void> => {
      const accounts = new AccountViews();
      await catchUpAccount(log, accounts, ACCOUNT);
      const webhooks = new PaymentWebhooks({
        ...{ log: through, accounts, product: 'gateway', clock: () => time.nowMs, mayWrite: () => true },
        ...{ logger: pino({ level: 'silent' }), answerMs: 60_000 },
        provider: { name, kinds, about, factsOf } as Partial<TellingProvider> as TellingProvider,
      });
      const { body, signature } = server.signed(event);
      expect(await webhooks.hear(Buffer.from(body), signature)).toMatchObject({ status: 200 });
    },
    events: () => Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event),
    open: async () => {
      const { state } = await loadAccount(log, ACCOUNT);
      if (state.type === 'unopened') throw new Error('it is open');
      return state;
    },
  };
}

/** What comes to be known once the gate is open; what is asked after the first is known at once. */
function heldUp(provider: TellingProvider) {
  const [gate, isAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const factsOf = async (notice: Notice) => {
    const known = await provider.factsOf(notice);
    isAsked.resolve();
    await gate.promise;
    return known;
  };
  return { factsOf, isAsked: isAsked.promise, go: gate.resolve };
}

const lastEvent = ({ events }: StripeServer): Told => {
  const last = events.at(-1);
  if (last === undefined) throw new Error('Stripe tells nothing');
  return last;
};

it('a refund that is told as made by an answer that was held up until it had failed takes nothing for long', async () => {
  const { server, provider, intent, hear, events, open } = await paidScene();
  const { id } = server.refund(intent, 500);
  const held = heldUp(provider);
  const first = hear(lastEvent(server), held.factsOf);
  await held.isAsked;
  server.change(id, { status: 'failed' }, 'refund.failed');
  await hear(lastEvent(server), (notice) => provider.factsOf(notice));
  held.go();
  await first;
  expect((await open()).balance).toBe(PRICE);
  expect((await events()).map(({ type }) => type).slice(-4)).toEqual([
    ...['PaymentRefunded', 'GrantRevoked', 'RefundWithdrawn', 'GrantRestored'],
  ]);
});

it.each([
  ['lost', 'won', PRICE],
  ['won', 'lost', PRICE - 8_000_000n],
] as const)(
  'a dispute that is told as %s by an answer that was held up until it was %s is not closed otherwise once more',
  async (before, now, left) => {
    const { server, provider, intent, hear, events, open } = await paidScene();
    const { id } = server.dispute(intent, 800, before);
    const held = heldUp(provider);
    const first = hear(lastEvent(server), held.factsOf);
    await held.isAsked;
    server.closeDispute(id, now);
    await hear(lastEvent(server), (notice) => provider.factsOf(notice));
    const written = await events();
    held.go();
    await first;
    expect(await events()).toEqual(written);
    expect((await open()).balance).toBe(left);
  },
);

it('no answer of Stripe’s that is held up leaves taken, or given back, what a later one has told: each message heard once leaves what Stripe has', async () => {
  let [replaced, failed, renamed] = [0, 0, 0];
  // Whether it happens while all answers are held up still, and what is new has an id that credits were revoked under by hand.
  const act = fc.record({ what: fc.constantFrom(...ACTS), isAtOnce: fc.boolean(), isTaken: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(act, { maxLength: 6 }), async (scheduler, acts) => {
      const { server, provider, log, intent, hear, events: written, open } = await paidScene();
      const byHand = async (command: AccountCommand): Promise<void> => {
        const result = await executeCommand(log, ACCOUNT, command, OPERATOR, recordingBy('operator', STARTED_MS));
        expect(result).toMatchObject({ type: 'done' });
      };
      const given = grantId('given');
      await byHand(grant(given, 9));
      /** What it is told comes when the scheduler lets it: much may have been written since it was answered. */
      const asking = new Set<Promise<unknown>>();
      const factsOf = async (notice: Notice) => {
        const asked = provider.factsOf(notice);
        asking.add(asked);
        const known = await asked;
        asking.delete(asked);
        await scheduler.schedule(Promise.resolve());
        return known;
      };
      const heard: Promise<void>[] = [];
      const happen = async (): Promise<void> => {
        for (const { what, isAtOnce, isTaken } of acts) {
          // What is asked by now is answered before it: the scheduler alone says what comes first.
          await nextTurn();
          while (asking.size > 0) await Promise.all(asking).then(() => nextTurn());
          if (!isAtOnce) await scheduler.schedule(Promise.resolve());
          const from = server.events.length;
          const before = new Set(returnsAt(server));
          happenAt(server, intent, what);
          for (const id of isTaken ? returnsAt(server).filter((one) => !before.has(one)) : [])
            await byHand({
              ...{ type: 'RevokeGrant', revocationId: id, grantId: given, amount: usd(1), cause: 'administration' },
              ...{ paymentId: null, reason: 'x', actor: 'operator', nowMs: STARTED_MS },
            });
          heard.push(...server.events.slice(from).map((event) => hear(event, factsOf, scheduled(log, scheduler))));
        }
        await Promise.all(heard);
      };
      await scheduler.waitFor(happen());

      const events = await written();
      const state = await open();
      const left = state.grants.find((one) => one.grantId === given)?.remaining ?? 0n;
      expect([state.balance - left, state.uncovered]).toEqual([leftAt(server), 0n]);
      expect(faultsOf(events)).toEqual([]);
      const ends = events.flatMap(({ type, data }) => (type === 'DisputeClosed' ? [data.outcome] : []));
      replaced += ends.length > 1 ? 1 : 0;
      failed += events.some(({ type }) => type === 'RefundWithdrawn') ? 1 : 0;
      const isRenamed = ({ type, data }: AccountEvent) =>
        type === 'GrantRevoked' && data.revocationId.endsWith('_again');
      renamed += events.some(isRenamed) ? 1 : 0;
      // Of three ends and more one that is as an earlier one cannot be told from it, and is put right behind.
      if (endsAt(server).length < 3) expect(isPartOf(ends, endsAt(server)), `${ends} of ${endsAt(server)}`).toBe(true);
    }),
    { numRuns: 100 },
  );
  expect(Math.min(replaced, failed, renamed)).toBeGreaterThan(0);
});
