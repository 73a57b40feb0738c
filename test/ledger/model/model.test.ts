import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AccountState } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { previousAt } from '../../../ledger/account/key-state.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import {
  type Commands,
  fleetHistories,
  histories,
  lived,
  monthlyHistories,
  monthlyPlanHistories,
  payingHistories,
  plainAccount,
  planHistories,
  wholeHistories,
} from './histories.ts';

/** Nobody can have done them wrong. */
const NEVER_REFUSED: ReadonlySet<AccountCommand['type']> = new Set([
  ...(['RecordUsage', 'ReportLateUsage', 'ExpireCredits', 'SavePaymentMethod', 'RemovePaymentMethod'] as const),
  ...(['StartAutoReload', 'LeaseCredits', 'ReleaseLease', 'OpenAccount'] as const),
]);

it.each([
  ['one proxy', histories, 36],
  ['two proxies', fleetHistories, 38],
])('an account is, command by command, what the plain account says: %s', (_name, all, types) => {
  const [done, refused] = [new Set<AccountCommand['type']>(), new Set<AccountCommand['type']>()];
  const rotations = new Set<string>();
  fc.assert(
    fc.property(all, (commands: Commands) => {
      for (const { command, before, decision } of lived(commands, { plain: plainAccount() }).tried) {
        if (command.type === 'RotateKey') rotations.add(`${isWithinOverlap(command, before)} ${'type' in decision}`);
        if ('type' in decision) refused.add(command.type);
        else if (decision.length > 0) done.add(command.type);
      }
    }),
    { numRuns: 500 },
  );
  expect(done.size).toBe(types);
  // A key whose secret before still works is rotated, where that is said, and is not.
  expect([...rotations].toSorted()).toEqual(['false false', 'false true', 'true false', 'true true']);
  expect([...done].filter((type) => !refused.has(type) && !NEVER_REFUSED.has(type))).toEqual([]);
});

function isWithinOverlap({ keyId, nowMs }: CommandOf<'RotateKey'>, before: AccountState): boolean {
  const key = before.type === 'open' ? entryOf(before.keys, keyId) : undefined;
  return key !== undefined && previousAt(key, nowMs) !== null;
}

it.each([
  ['over many months', monthlyHistories],
  ['over many months, from a plan on', monthlyPlanHistories],
  ['in which much is bought', payingHistories],
  ['of two proxies that have all of it, from a plan on', wholeHistories],
])('so it is in lives %s', (_name, all) => {
  fc.assert(
    fc.property(all, (commands: Commands) => {
      expect(lived(commands, { plain: plainAccount() }).tried.length).toBeGreaterThan(0);
    }),
    { numRuns: 200 },
  );
});

/** What becomes of plans. */
const TURNS = [
  ...['renewal', 'upgrade', 'PlanChanged', 'cancelled', 'unpaid', 'declined', 'given up'],
  ...['credit of a plan', 'given by a plan', 'credit as bought', 'ended, all of its money back'],
] as const;

it('so it is in lives with plans, whatever becomes of them', () => {
  const seen = new Set<(typeof TURNS)[number]>();
  fc.assert(
    fc.property(planHistories, (commands: Commands) => {
      const of = (attemptId: string): boolean => /^(renewal|upgrade)/.test(attemptId);
      const { events, tried } = lived(commands, { plain: plainAccount() });
      for (const { before, decision } of tried)
        if (before.type === 'open' && isReturned(before) && !('type' in decision))
          for (const { type } of decision) if (type === 'PlanEnded') seen.add('ended, all of its money back');
      for (const { type, data } of events) {
        if (type === 'RenewalStarted') seen.add(data.kind);
        if (type === 'PlanChanged') seen.add(type);
        if (type === 'PlanEnded') seen.add(data.reason);
        if (type === 'PaymentFailed' && of(data.attemptId)) seen.add('declined');
        if (type === 'PaymentAbandoned' && of(data.attemptId)) seen.add('given up');
        if (type !== 'CreditsGranted') continue;
        if (data.source === 'plan') seen.add(data.costBasis > 0n ? 'credit of a plan' : 'given by a plan');
        if (data.source === 'purchase' && of(data.grantId.replace('payment_pi_', ''))) seen.add('credit as bought');
      }
    }),
    { numRuns: 300 },
  );
  expect([...seen].toSorted()).toEqual(TURNS.toSorted());
});
