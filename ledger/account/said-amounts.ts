import type { MicroUsd } from '../../contracts/money.ts';

/** What an event that moves money says of itself, and of the account behind it. */
interface Said {
  readonly amount: MicroUsd;
  readonly balanceAfter: MicroUsd;
}

/** What it does by the fold: to grants and to what is owed, and to the balance. */
interface Found {
  readonly parts: bigint;
  readonly balance: bigint;
}

/**
 * It was decided on the very state that it follows: the same event twice, or one that stands elsewhere than it was written, does
 * not agree with it. @throws Error
 */
export function assertAgrees({ amount, balanceAfter }: Said, { parts, balance }: Found): void {
  if (parts !== amount) throw new Error(`of its ${amount} micro-USD ${parts} are accounted for`);
  if (balance !== balanceAfter)
    throw new Error(`it leaves a balance of ${balance} micro-USD, and says ${balanceAfter}`);
}
