import fc from 'fast-check';
import { expect, test } from 'vitest';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, MoneyOfRequest } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import { type Commands, histories, lived } from '../model/histories.ts';

/** After any history of an account. */
const SAID = { reason: 'x', actor: 'operator' } as const;
const NUMBER = 0xffff;

/** An account after its history, and the instant after its last command. */
function accountAfter(commands: Commands): { readonly account: OpenAccount; readonly nowMs: number } {
  const { open: account, nowMs } = lived(commands);
  return { account, nowMs: nowMs + 1 };
}

function decided(account: OpenAccount, command: AccountCommand) {
  const events = decide(command, account);
  if ('type' in events) throw new Error(`refused: ${events.message}`);
  return { events, account: events.reduce<OpenAccount>(evolve, account) };
}

/** A request of so much output that begins and ends at an instant. */
function debited(account: OpenAccount, output: number, nowMs: number) {
  const { id, version, hash } = PRICE_CARD;
  const at = new Date(nowMs).toISOString();
  const usage = usageOf(NUMBER, output, { startedAt: at, finishedAt: at, rateCard: { id, version, hash } });
  const after = decided(account, { type: 'RecordUsage', usage, card: PRICE_CARD });
  const debits = after.events.filter((event): event is MoneyOfRequest => event.type === 'CreditsDebited');
  return { ...after, debits, requestId: usage.requestId };
}

/** What had expired was refunded, paid for by other credits, and reinstated: what is spent or revoked of it then comes back in their place. */
function holdsRevoked({ grants, billing: { revocations } }: OpenAccount): boolean {
  const revoked = new Map<string, bigint>();
  for (const { grantId, amount, restored } of revocations)
    revoked.set(grantId, (revoked.get(grantId) ?? 0n) + amount - restored);
  return grants.some(
    ({ grantId, amount, remaining, expired }) =>
      remaining > 0n && remaining + expired + (revoked.get(grantId) ?? 0n) > amount,
  );
}

const moneyOf = ({ grants, uncovered, balance }: OpenAccount) => ({
  ...{
    uncovered,
    balance,
    grants: grants.map(({ grantId, remaining, expiresAtMs }) => [grantId, remaining, expiresAtMs]),
  },
});
const spentIn = ({ spend: { months } }: OpenAccount, month: string) => months[month]?.account ?? 0n;

test('invariant 14: corrections: a usage and its correction, whole or part by part, leave grants, debt, balance and month as they were', () => {
  fc.assert(
    fc.property(
      histories,
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.nat({ max: 100 })),
      (commands: Commands, output, parts) => {
        const { account, nowMs } = accountAfter(commands);
        if (holdsRevoked(account)) return;
        let { account: now, debits, requestId } = debited(account, output, nowMs);
        const all = debits.reduce((sum, { data }) => sum + data.amount, 0n);
        const month = new Date(nowMs).toISOString().slice(0, 7);
        let left = all;
        for (const [at, percent] of [...parts, 100].entries()) {
          const amount = percent === 100 ? left : (left * BigInt(percent)) / 100n;
          if (amount === 0n) continue;
          const reversal = { reversalId: `r${at}`, requestId, amount: microUsd(amount), debits };
          const { events, account: after } = decided(now, { type: 'ReverseDebit', ...reversal, ...SAID, nowMs });
          debits = [...debits, ...events.filter((event): event is MoneyOfRequest => event.type === 'DebitReversed')];
          [now, left] = [after, left - amount];
        }
        expect(left).toBe(0n);
        expect(moneyOf(now)).toEqual(moneyOf(account));
        expect(spentIn(now, month)).toBe(spentIn(account, month));
        const again = { reversalId: 'again', requestId, amount: null, debits } as const;
        expect(decide({ type: 'ReverseDebit', ...again, ...SAID, nowMs }, now)).toMatchObject({ type: 'refused' });
      },
    ),
    { numRuns: 150 },
  );
});

test('invariant 14: corrections: a part that is corrected is what the debit took last, in reverse', () => {
  let several = 0;
  fc.assert(
    fc.property(
      histories,
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 100 }),
      (commands: Commands, output, percent) => {
        const { account, nowMs } = accountAfter(commands);
        if (holdsRevoked(account)) return;
        const { account: now, debits, requestId } = debited(account, output, nowMs);
        const [debit] = debits;
        if (debit?.type !== 'CreditsDebited') return;
        const { grants, uncovered, amount: all } = debit.data;
        const amount = microUsd((all * BigInt(percent)) / 100n);
        if (amount === 0n) return;
        const reversal = { reversalId: 'r', requestId, amount, debits };
        const { events } = decided(now, { type: 'ReverseDebit', ...reversal, ...SAID, nowMs });
        const [reversed] = events;
        if (reversed?.type !== 'DebitReversed') throw new Error('nothing was reversed');
        const taken = [
          ...grants.map((one) => [one.grantId, one.amount] as const),
          ['', uncovered] as const,
        ].toReversed();
        let left: bigint = amount;
        const due = taken.flatMap(([id, of]) => {
          const part = of < left ? of : left;
          left -= part;
          return part === 0n ? [] : [[id, part]];
        });
        const { owedLess, reinstated } = reversed.data;
        const back = reinstated.map((one) => [one.grantId, one.amount]);
        expect(owedLess === 0n ? back : [['', owedLess], ...back]).toEqual(due);
        several += due.length > 1 ? 1 : 0;
      },
    ),
    { numRuns: 150 },
  );
  expect(several).toBeGreaterThan(5);
});

test('invariant 14: corrections: what is granted, revoked or adjusted and undone by its further event leaves the balance as it was', () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: 1, max: 500 }), fc.nat(), (commands: Commands, size, which) => {
      const { account, nowMs } = accountAfter(commands);
      const amount = microUsd(BigInt(size));
      const adjust = (direction: 'up' | 'down'): AccountCommand => {
        const ids = { adjustmentId: grantId(`of ${direction}`), direction } as const;
        return { type: 'AdjustBalance', ...ids, amount, ...SAID, nowMs };
      };
      for (const directions of [['up', 'down'] as const, ['down', 'up'] as const])
        expect(
          directions.reduce((state, direction) => decided(state, adjust(direction)).account, account).balance,
        ).toBe(account.balance);
      const live = account.grants.filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs);
      const revoked = live[which % Math.max(1, live.length)];
      if (revoked === undefined || revoked.amount === 0n) return;
      const ids = { revocationId: 'undone', grantId: revoked.grantId, cause: 'refund', paymentId: null } as const;
      const revoke: AccountCommand = { type: 'RevokeGrant', ...ids, amount: microUsd(1n), ...SAID, nowMs };
      if ('type' in decide(revoke, account)) return;
      const { account: without } = decided(account, revoke);
      const restoration = { restorationId: 'undoes', revocationId: 'undone', amount: null } as const;
      const { account: again } = decided(without, { type: 'RestoreGrant', ...restoration, ...SAID, nowMs });
      expect([without.balance, again.balance]).toEqual([account.balance - 1n, account.balance]);
      if (!holdsRevoked(account)) expect(moneyOf(again)).toEqual(moneyOf(account));
    }),
    { numRuns: 100 },
  );
});
