import type { AccountEvent } from '../../../contracts/events.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ms, opened } from '../../fixtures/ledger/example-account.ts';
import { catalogOf } from '../../fixtures/ledger/example-plan-events.ts';
import { type Case, catalogOfFaults } from './account-faults.ts';

/** Plans that the decider would have refused, or nobody has asked for (refusals.test.ts). */

const AT = '2026-11-20T10:00:00.000Z';
const END = '2026-12-20T10:00:00.000Z';
const RENEWING = { provider: 'manual', catalog: catalogOfFaults, nowMs: ms(AT) };
const change = (plan: string): CommandOf<'ChangePlan'> => ({
  ...{ type: 'ChangePlan', plan, reason: 'as asked for', by: 'operator', ...RENEWING },
});
const renew: CommandOf<'StartRenewal'> = { type: 'StartRenewal', ...RENEWING };
const changed = (plan: string, catalogVersion: number | null, effectiveAt = AT): AccountEvent => ({
  type: 'PlanChanged',
  data: {
    plan,
    terms: { catalogVersion, effectiveAt, anchorAt: AT, periodEnd: END, reason: 'as asked for', by: 'operator' },
  },
});
const begun = [opened, ...given(opened).decided(change('starter'))];
const [, , claim] = begun;
const ended = (reason: 'unpaid' | 'cancelled'): AccountEvent => ({
  type: 'PlanEnded',
  data: { plan: 'starter', reason, at: AT },
});
if (claim?.type !== 'RenewalStarted') throw new Error('a first period is not claimed');

export const PLAN_CASES = {
  ChangePlan: [
    {
      ...{ refused: 'plan_not_found', life: [opened], command: change('tema'), written: [changed('tema', 1)] },
      fault: /^plan tema: the catalog 1 has none$/,
    },
    {
      ...{ refused: 'plan_not_found', life: [opened], command: { ...change('team'), catalog: catalogOf() } },
      ...{ written: [changed('team', 2)], fault: /^plan team: the catalog 2 has none$/ },
    },
    {
      ...{ refused: 'attempt_open', life: begun, command: change('team'), written: [changed('team', 1), claim] },
      fault: /^renewal_2026-11-20T10:00:00.000Z: begun twice$/,
    },
  ],
  EndPlan: [
    {
      ...{
        refused: 'plan_not_found',
        life: [opened],
        command: { type: 'EndPlan', reason: 'x', by: 'x', nowMs: ms(AT) },
      },
      ...{ written: [ended('cancelled')], fault: /^plan starter: has ended, and there was none$/ },
    },
    {
      ...{ refused: 'plan_not_found', life: [opened], command: change('none') },
      ...{ written: [changed('none', null)], fault: /^plan: is to end, and there is none$/ },
    },
  ],
  StartRenewal: [
    {
      ...{ refused: 'nothing', life: [opened], command: renew, written: [claim] },
      fault: /^renewal_2026-11-20T10:00:00.000Z: is of plan starter, and the account has none$/,
    },
    {
      ...{ refused: 'nothing', life: begun, command: renew, written: [claim] },
      fault: /^renewal_2026-11-20T10:00:00.000Z: begun twice$/,
    },
    {
      ...{ refused: 'nothing', life: begun, command: renew, written: [ended('unpaid')] },
      fault:
        /^plan starter: has ended unpaid is 2026-11-20T10:00:00.000Z, should be 2026-11-27T10:00:00.000Z or later$/,
    },
  ],
} as const satisfies Readonly<Record<string, readonly Case[]>>;
