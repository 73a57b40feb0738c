import fc from 'fast-check';
import { grantId, keyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { ACCOUNT, KEY, OTHER_KEY } from '../../fixtures/ledger/example-account.ts';
import { PRICE } from '../../fixtures/ledger/random-life.ts';
import { moneyMoves } from './money-moves.ts';
import { paymentMoves } from './payment-moves.ts';
import { leaseMoves, peopleMoves } from './people-moves.ts';
import { PlainAccount } from './plain-account.ts';
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

const stepOf = (moves: readonly (typeof moneyMoves)[number][]): fc.Arbitrary<Step> =>
  fc.tuple(afterMs, fc.oneof(...moves)).map(([after, move]) => new Step(after, move));

export type Commands = Iterable<fc.Command<{ readonly plain: PlainAccount | null }, RealAccount>>;
const all = [...moneyMoves, ...paymentMoves, ...peopleMoves];
const options = { maxCommands: 60, size: 'max' } as const;

/** What one proxy may see in an account's life. */
export const histories = fc.commands([stepOf(all)], options);
/** What two of them see. */
export const fleetHistories = fc.commands([stepOf([...all, ...leaseMoves])], options);

/** The account that the commands make; each of them compared with what a plain account says, where that is asked for. */
export function lived(commands: Commands, of: { readonly plain?: PlainAccount } = {}): RealAccount {
  const real = new RealAccount(BIRTH_MS);
  const { plain = null } = of;
  const setUp = () => {
    for (const command of BEGINNING) {
      const { decision } = real.carryOut({ ...command, nowMs: BIRTH_MS });
      if (!('type' in decision)) plain?.carryOut({ ...command, nowMs: BIRTH_MS }, decision, BIRTH_MS);
    }
    return { model: { plain }, real };
  };
  fc.modelRun(setUp, commands);
  return real;
}

export const plainAccount = (): PlainAccount => new PlainAccount(PRICE);

const issue = (id: typeof KEY): Extract<AccountCommand, { type: 'IssueKey' }> => ({
  ...{ type: 'IssueKey', keyId: keyId(id), name: 'ci', sha256: `${id === KEY ? 'a' : 'b'}3`.repeat(32), last4: 'wxyz' },
  ...{ issuer: 'owner@example.com', expiresAtMs: null, models: null, monthlyLimit: microUsd(300n), nowMs: BIRTH_MS },
});
const BEGINNING = [
  {
    ...{ type: 'OpenAccount', accountId: ACCOUNT, kind: 'organization', email: 'owner@example.com' },
    ...{ trial: microUsd(500n), trialGrantId: grantId('trial'), nowMs: BIRTH_MS },
  },
  issue(KEY),
  { ...issue(OTHER_KEY), monthlyLimit: null },
] as const satisfies readonly AccountCommand[];
