import fc from 'fast-check';
import { type AccountId, grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { ACCOUNT, KEY, OTHER_KEY } from '../../fixtures/ledger/example-account.ts';
import { PRICE } from '../../fixtures/ledger/random-life.ts';
import { memberMoves } from './member-moves.ts';
import { moneyMoves, monthMoves, spendingMoves } from './money-moves.ts';
import { paymentMoves } from './payment-moves.ts';
import { leaseAllMoves, leaseMoves, peopleMoves, sha256Of } from './people-moves.ts';
import { PlainAccount } from './plain-account.ts';
import { firstPlan, latePlanPayment, planMoves } from './plan-moves.ts';
import { RealAccount } from './real-account.ts';
import { Step } from './step.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Just before a year's end: what is two months later is a leap year's February. */
const BIRTH_MS = Date.UTC(2027, 11, 30, 22);

/** Mostly close together, so that things overlap; now and then days apart, and the clock jumps over months. */
const afterMs = fc.oneof(
  { weight: 20, arbitrary: fc.nat({ max: HOUR_MS / 3 }) },
  { weight: 4, arbitrary: fc.nat({ max: 2 * DAY_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 20 * DAY_MS, max: 70 * DAY_MS }) },
);

const stepOf = (moves: readonly (typeof moneyMoves)[number][], after = afterMs): fc.Arbitrary<Step> =>
  fc.tuple(after, fc.oneof(...moves)).map(([ms, move]) => new Step(ms, move));

export type Commands = Iterable<fc.Command<{ readonly plain: PlainAccount | null }, RealAccount>>;
const all = [...moneyMoves, ...paymentMoves, ...peopleMoves];
const options = { maxCommands: 60, size: 'max' } as const;

/** What one proxy may see in an account's life. */
export const histories = fc.commands([stepOf(all)], options);
/** What two of them see. */
export const fleetHistories = fc.commands([stepOf([...all, ...leaseMoves])], options);

/** What members spend, with limits that come and go, of two proxies. */
export const memberHistories = fc.commands(
  [stepOf([...moneyMoves, ...peopleMoves, ...leaseMoves, ...memberMoves])],
  options,
);

/** In which much is bought. */
export const payingHistories = fc.commands([stepOf([...paymentMoves, ...spendingMoves])], options);

/** With plans. */
export const planHistories = fc.commands([stepOf([...paymentMoves, ...spendingMoves, ...planMoves])], options);

/** All that there is, at two proxies, from a plan on. */
export const wholeHistories = fc
  .tuple(firstPlan, fc.commands([stepOf([...all, ...leaseMoves, ...leaseAllMoves, ...planMoves])], options))
  .map(([first, commands]): Commands => [new Step(0, first), ...commands]);

/** Over many months. */
const weeks = fc.oneof(afterMs, fc.nat({ max: 20 * DAY_MS }));
export const monthlyHistories = fc.commands([stepOf([...moneyMoves, ...monthMoves], weeks)], options);
/** The same from a plan on, which is renewed. */
export const monthlyPlanHistories = fc
  .tuple(
    firstPlan,
    fc.commands([stepOf([...moneyMoves, ...monthMoves, ...planMoves, latePlanPayment], weeks)], options),
  )
  .map(([first, commands]): Commands => [new Step(0, first), ...commands]);

/** The account that the commands make; each of them compared with what a plain account says, where that is asked for. */
export function lived(
  commands: Commands,
  of: { readonly plain?: PlainAccount; readonly accountId?: AccountId; readonly firstNumber?: number } = {},
): RealAccount {
  const { plain = null, accountId = ACCOUNT, firstNumber = 0 } = of;
  const real = new RealAccount(BIRTH_MS, firstNumber);
  const setUp = () => {
    for (const command of beginning(accountId)) {
      const { decision } = real.carryOut(command);
      if (!('type' in decision)) plain?.carryOut(command, decision, BIRTH_MS);
    }
    return { model: { plain }, real };
  };
  fc.modelRun(setUp, commands);
  return real;
}

export const plainAccount = (): PlainAccount => new PlainAccount(PRICE);

function beginning(accountId: AccountId): AccountCommand[] {
  const issue = { type: 'IssueKey', name: 'ci', last4: 'wxyz', issuer: 'owner@example.com', nowMs: BIRTH_MS } as const;
  const ends = { expiresAtMs: null, models: null };
  return [
    {
      ...{ type: 'OpenAccount', accountId, kind: 'organization', email: 'owner@example.com' },
      ...{ trial: microUsd(500n), trialGrantId: grantId('trial'), nowMs: BIRTH_MS },
    },
    { ...issue, keyId: KEY, sha256: sha256Of(accountId, KEY), ...ends, monthlyLimit: microUsd(300n) },
    { ...issue, keyId: OTHER_KEY, sha256: sha256Of(accountId, OTHER_KEY), ...ends, monthlyLimit: null },
  ];
}
