import type { UsageRecorded } from '../../contracts/events.ts';
import { debitWithCarry, type MicroUsd, microUsd, mostDebited, type PicoUsd } from '../../contracts/money.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { rateUsage } from '../rating.ts';

interface DebitWithinHold {
  readonly amount: MicroUsd;
  /** What the hold left out: it becomes an exception. */
  readonly leftOut: MicroUsd;
  readonly carryAfter: PicoUsd;
}

/** At most the hold, whatever an upstream reports (interface, 5.8); null, as in old records, is no bound. */
export function debitWithinHold(hold: MicroUsd | null, carry: PicoUsd, cost: PicoUsd): DebitWithinHold {
  const { amount, carryAfter } = debitWithCarry(carry, cost);
  const taken = within(hold, amount);
  return { amount: taken, leftOut: microUsd(amount - taken), carryAfter };
}

/** The most that the debit of a usage can take, whatever the carry will be: what is held for it until then. */
export function mostDebitedWithinHold(usage: UsageRecorded, card: RateCard): MicroUsd {
  return usage.billable ? within(usage.hold, mostDebited(rateUsage(usage, card).cost)) : microUsd(0n);
}

const within = (hold: MicroUsd | null, amount: MicroUsd): MicroUsd => (hold === null || amount <= hold ? amount : hold);
