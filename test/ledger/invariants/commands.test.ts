import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { SYSTEM } from '../../../contracts/permissions.ts';
import type { AccountState } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { ACCOUNT, grant, granted, keyIssued, ms, opened } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause } from '../../fixtures/ledger/prompt-pauses.ts';
import { wholeHistories } from '../model/histories.ts';
import type { RealAccount } from '../model/real-account.ts';
import { eachEvent, inAnyHistory, sum, TURNS, turnsOf } from './in-any-history.ts';

/** Whoever gives one of these gives it an id. What of them is so much, and could be another amount. */
const WITH_IDS = {
  GrantCredits: 'amount',
  RevokeGrant: 'amount',
  RestoreGrant: 'amount',
  ReverseDebit: 'amount',
  AdjustBalance: 'amount',
  StartPurchase: 'price',
  RecordPayment: 'amount',
  RecordRefund: 'amount',
  RecordDispute: 'amount',
} as const satisfies Partial<Record<AccountCommand['type'], string>>;

/** What looks at how things are, or says how they are to be: several do so at once, and after each start. */
const BY_LEVEL: ReadonlySet<AccountCommand['type']> = new Set([
  ...([
    'ChangePlan',
    'StartRenewal',
    'EndPlan',
    'StartAutoReload',
    'ConfigureAutoReload',
    'SavePaymentMethod',
  ] as const),
  ...(['RemovePaymentMethod', 'ExpireCredits', 'SetSpendLimit', 'AddMember', 'ChangeMemberRole'] as const),
]);

const hasId = (command: AccountCommand): command is Extract<AccountCommand, { type: keyof typeof WITH_IDS }> =>
  Object.hasOwn(WITH_IDS, command.type);

/** Where a grace is over the plan ends as it is asked for, and may be asked for anew. */
const isPastGrace = ({ type: asks }: AccountCommand, decided: readonly AccountEvent[]): boolean =>
  decided.some(({ type, data }) => type === 'PlanEnded' && data.reason === 'unpaid' && asks === 'ChangePlan');

const isEmpty = (decision: ReturnType<typeof decide>): boolean => 'type' in decision || decision.length === 0;

describe('invariant 8: idempotency', () => {
  // A refusal is no event: it is decided anew, and the same on the same state.
  it('in any history a command that is given again has no effect again, and with another amount is refused', () => {
    const [seen, atOnce, turns] = [new Set<string>(), new Set<string>(), new Set<string>()];
    const check = (account: RealAccount): void => {
      const { nowMs, open, tried } = account;
      for (const turn of turnsOf(account)) turns.add(turn);
      for (const { command, before, decision } of tried) {
        if ('type' in decision) {
          expect(decide(command, before)).toEqual(decision);
          continue;
        }
        if (decision.length === 0) continue;
        if (BY_LEVEL.has(command.type)) {
          const after = decision.reduce<AccountState>(evolve, before);
          if (!isPastGrace(command, decision)) expect(isEmpty(decide(command, after)), command.type).toBe(true);
          atOnce.add(command.type);
        }
        if (!hasId(command)) continue;
        const now = 'nowMs' in command ? { ...command, nowMs } : command;
        const again =
          now.type === 'ReverseDebit' ? { ...now, debits: account.moneyOf(now.requestId) } : (now as AccountCommand);
        expect(isEmpty(decide(again, open)), command.type).toBe(true);
        const figure = WITH_IDS[command.type];
        // What is over is written down first, of an amount of its own.
        const said = (decision as readonly AccountEvent[]).find(
          ({ type, data }) => type !== 'CreditsExpired' && 'amount' in data,
        )?.data;
        const stated = (command as unknown as Record<string, bigint | null>)[figure];
        const amount = stated ?? (said as { readonly amount: bigint }).amount;
        // What a payment was of is not its own to say: the same payment again is known by its id.
        if (command.type === 'RecordPayment') continue;
        const other = { ...again, [figure]: microUsd(amount + 1n) } as AccountCommand;
        expect(decide(other, open), command.type).toMatchObject({ type: 'refused' });
        seen.add(command.type);
      }
    };
    inAnyHistory(400, check, wholeHistories);
    expect([...seen, 'RecordPayment'].toSorted()).toEqual(Object.keys(WITH_IDS).toSorted());
    expect([...atOnce].toSorted()).toEqual([...BY_LEVEL].toSorted());
    expect([...turns].toSorted()).toEqual(TURNS);
  });

  it('commands that come several times at once, and in any order, have the effect of one each', async () => {
    const nowMs = ms('2026-11-20T10:00:00.000Z');
    const said = { reason: 'x', actor: 'operator', nowMs } as const;
    const commands: AccountCommand[] = [
      grant('bought', 50),
      {
        type: 'RevokeGrant',
        revocationId: 'r',
        grantId: 'first' as never,
        amount: microUsd(30n),
        cause: 'fraud',
        paymentId: null,
        ...said,
      },
      { type: 'AdjustBalance', adjustmentId: 'a' as never, direction: 'up', amount: microUsd(7n), ...said },
      { type: 'AdjustBalance', adjustmentId: 'b' as never, direction: 'down', amount: microUsd(9n), ...said },
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.constantFrom(...commands), { maxLength: 6 }),
        async (scheduler, more) => {
          const log = logWith(granted('first', 100));
          const through = scheduled(log, scheduler);
          await scheduler.waitFor(Promise.all([...commands, ...more].map((command) => execute(through, command))));
          const { state } = await loadAccount(log, ACCOUNT);
          expect(state).toMatchObject({ balance: 118n });
          const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event.type);
          expect(events.slice(3).toSorted()).toEqual([
            'BalanceAdjusted',
            'BalanceAdjusted',
            'CreditsGranted',
            'GrantRevoked',
          ]);
        },
      ),
      { numRuns: 25 },
    );
  });
});

// What a hold may take beyond itself is left out of the debit, as an exception (interface, 5.8).
it('invariant 9: holds: leases and debts are never more than there is to spend, each lease ends once, and no debit is beyond its hold', () => {
  let [leased, beyond] = [0, 0];
  const turns = new Set<string>();
  const check = (account: RealAccount): void => {
    for (const turn of turnsOf(account)) turns.add(turn);
    const holds = new Map<string, bigint | null>();
    const left = new Map<string, bigint>();
    for (const { event, atMs, after } of eachEvent(account)) {
      if (event.type === 'UsageRecorded') holds.set(event.data.requestId, event.data.hold);
      if (event.type === 'CreditsDebited') {
        const { requestId, amount, leaseId: under } = event.data;
        const hold = holds.get(requestId) ?? null;
        expect(hold === null || amount <= hold).toBe(true);
        const before = under === undefined ? undefined : left.get(under);
        if (under !== undefined && before !== undefined)
          if (before > amount) left.set(under, before - amount);
          else left.delete(under);
      }
      if (event.type === 'LeaseReleased') {
        const { leaseId: id, amount } = event.data;
        const before = left.get(id) ?? 0n;
        expect(amount > 0n && amount <= before).toBe(true);
        if (before > amount) left.set(id, before - amount);
        else left.delete(id);
      }
      if (event.type === 'CreditsLeased' && event.data.amount > 0n) {
        left.set(event.data.leaseId, (left.get(event.data.leaseId) ?? 0n) + event.data.amount);
        leased += 1;
        // What has expired under a lease may still be paid by its requests from before.
        const { grants, leases, uncovered, billing } = after;
        // By the plan that is in force it may owe so much.
        const overdraft = billing.plan?.overdraft ?? 0n;
        const there = grants.filter(({ effectiveAtMs }) => effectiveAtMs <= atMs);
        const active = Object.values(leases).filter(({ expiresAtMs }) => expiresAtMs > atMs);
        const held = sum(active.map(({ amount }) => amount));
        const credit = sum(there.map(({ remaining }) => remaining)) - uncovered;
        expect(held <= credit + overdraft).toBe(true);
        beyond += held > credit ? 1 : 0;
        const isOneForAll = active.every(({ requestsBeforeMs }) => (requestsBeforeMs ?? atMs + 1) > atMs);
        const usable = there.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > atMs);
        const spendable = sum(usable.map(({ remaining }) => remaining)) - uncovered;
        if (isOneForAll) expect(held <= spendable + overdraft).toBe(true);
      }
      expect(
        new Map(Object.values(after.leases).map(({ leaseId: id, amount }) => [id as string, amount as bigint])),
      ).toEqual(left);
    }
  };
  inAnyHistory(200, check, wholeHistories);
  expect(leased).toBeGreaterThan(50);
  expect(beyond).toBeGreaterThan(0);
  expect([...turns].toSorted()).toEqual(TURNS);
});

it('invariant 10: concurrency: of many that ask at once for what a few can have, no more get it, in any interleaving', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.nat({ max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      async (scheduler, fits, more) => {
        const log = logWith(granted('first', fits * 10 + 9));
        const nowMs = ms('2026-11-20T10:00:00.000Z');
        const asking = Array.from({ length: fits + more }, async (_, at) => {
          const ids = { proxy: proxyId(`proxy_${at}`), leaseId: leaseId(`lease_${at}`), epoch: 1, keyId: null };
          const terms = { requestsBeforeMs: null, othersAheadMs: 0, expiresAtMs: nowMs + 60_000, nowMs };
          await execute(scheduled(log, scheduler), { type: 'LeaseCredits', ...ids, upTo: microUsd(10n), ...terms });
        });
        await scheduler.waitFor(Promise.all(asking));
        const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
        const got = events.flatMap(({ type, data }) => (type === 'CreditsLeased' ? [data.amount] : []));
        expect(got.filter((amount) => amount === 10n)).toHaveLength(Math.min(fits, fits + more));
        expect(sum(got)).toBe(more > 0 ? BigInt(fits * 10 + 9) : BigInt(fits * 10));
      },
    ),
    { numRuns: 40 },
  );
});

function logWith(...events: readonly AccountEvent[]): MemoryEventLog {
  const log = new MemoryEventLog();
  const recording = recordingBy('test', ms('2026-11-06T10:00:00.000Z'));
  log.write(accountStream(ACCOUNT), encodeEvents([opened, keyIssued(), ...events], recording));
  return log;
}

/** More tries than there are others: the last of them still gets its turn. */
const timing = { ...TIMING, pause: promptPause };

const execute = (log: EventLog, command: AccountCommand) => {
  const actor = command.type === 'LeaseCredits' ? SYSTEM : OPERATOR;
  return executeCommand(log, ACCOUNT, command, actor, recordingBy('test', ms('2026-11-20T10:00:00.000Z')), { timing });
};

/** Each append comes when the scheduler lets it. */
function scheduled(log: MemoryEventLog, scheduler: fc.Scheduler): EventLog {
  const { readStream, readAll, subscribeAll, headPosition, close } = log;
  return {
    append: scheduler.scheduleFunction(log.append.bind(log)),
    readStream: readStream.bind(log),
    readAll: readAll.bind(log),
    subscribeAll: subscribeAll.bind(log),
    headPosition: headPosition.bind(log),
    close: close.bind(log),
  };
}
