import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { sellingSite } from './begun-sites.ts';
import { countsOf, LOOK, openOf } from './killed-site.ts';
import type { SiteTask } from './stripe-site.ts';

interface Step {
  /** What of it stands in the log first. */
  readonly type: AccountEvent['type'];
  readonly task: SiteTask;
  readonly balance: bigint;
}

const step = (type: Step['type'], balance: bigint, ...words: readonly string[]): Step => ({
  ...{ type, balance, task: { type: 'run', provider: 'manual', words } },
});
const OF_WIRE = [ACCOUNT, 'wire-7', '--reason', 'the bank'] as const;

/** What an operator writes down of one payment, one after the other, and the balance after each. */
const STEPS: readonly Step[] = [
  step('PurchaseStarted', 0n, 'credits', 'purchase', ACCOUNT, '--usd', '20', '--id', 'p1'),
  step('PaymentSucceeded', 20_000_000n, 'payment', 'confirm', ACCOUNT, 'p1', '--payment', 'wire-7'),
  step('PaymentRefunded', 15_000_000n, 'payment', 'refund', ...OF_WIRE, '--usd', '5', '--id', 'back-7'),
  step('RefundWithdrawn', 20_000_000n, 'payment', 'withdraw-refund', ...OF_WIRE, '--id', 'back-7'),
  step('PaymentDisputed', 0n, 'payment', 'dispute', ...OF_WIRE, '--usd', '20', '--id', 'case-7'),
  step('DisputeClosed', 20_000_000n, 'payment', 'close-dispute', ...OF_WIRE, '--id', 'case-7', '--outcome', 'won'),
];
const TYPES = STEPS.map(({ type }) => type);

it.each(TYPES.flatMap((type, at) => [`before ${type}`, `after ${type}`].map((instant) => [instant, at] as const)))(
  'kill -9 %s of what an operator writes down leaves it written once, when it is said again',
  async (instant, at) => {
    const tasks = STEPS.map(({ task }) => task);
    const { killed, done, read } = await sellingSite(tasks.slice(0, at));
    const { task, balance } = STEPS[at] as Step;
    await killed(instant, task);
    await done(LOOK);
    for (let times = 0; times < 2; times++) await done(task);
    expect(await done(task)).toContain('nothing was written');
    const { account, events } = await read();
    expect([openOf(account), account.balance]).toEqual([at === 0 ? ['p1'] : [], balance]);
    expect(countsOf(events, TYPES)).toEqual(TYPES.map((_, index) => (index <= at ? 1 : 0)));
    for (const later of tasks.slice(at + 1)) await done(later);
    const last = await read();
    expect(last.account.balance).toBe(20_000_000n);
    expect(countsOf(last.events, [...TYPES, 'CreditsGranted', 'GrantRevoked', 'GrantRestored'])).toEqual([
      ...TYPES.map(() => 1),
      ...[1, 2, 2],
    ]);
  },
);
