import type { CommandOf } from '../../../ledger/account/commands.ts';
import type { PlainGrant, Verdict } from './plain-grants.ts';

/** The months of an account, closed one after another. */
export class PlainStatements {
  readonly #movements: { readonly amount: bigint; readonly factMs: number; isCounted: boolean }[] = [];
  #last = '';
  nowMs = 0;
  /** Of the last statement. */
  closing = 0n;

  /** What is added to the balance, and when that has come to be; what begins later is of when it is said. */
  move(amount: bigint, factMs: number): void {
    this.#movements.push({ amount, factMs: Math.min(factMs, this.nowMs), isCounted: false });
  }

  close({ month, graceMs, nowMs }: CommandOf<'CloseStatement'>, grants: readonly PlainGrant[]): Verdict {
    if (month === this.#last) return 'nothing';
    const [year, number] = month.split('-').map(Number);
    const endMs = Date.UTC(year ?? 0, number ?? 0);
    const isEarlier = month < this.#last || nowMs < endMs + graceMs;
    if (isEarlier || grants.some((grant) => grant.left > 0n && grant.untilMs <= endMs)) return 'refused';
    this.#last = month;
    for (const movement of this.#movements) {
      if (movement.isCounted || movement.factMs >= endMs) continue;
      movement.isCounted = true;
      this.closing += movement.amount;
    }
    return 'done';
  }
}
