import type { UsageRecorded } from '../../contracts/events.ts';
import {
  debitWithCarry,
  type MicroUsd,
  microUsd,
  mostDebited,
  PICO_PER_MICRO,
  type PicoUsd,
  picoUsd,
} from '../../contracts/money.ts';
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
  return mostDebited(costWithinHold(usage, card));
}

/** What a usage costs its account, exactly, but for what the carry of the account makes of it. */
export function costWithinHold(usage: UsageRecorded, card: RateCard): PicoUsd {
  if (!usage.billable) return picoUsd(0n);
  const { cost } = rateUsage(usage, card);
  const most = usage.hold === null ? cost : usage.hold * PICO_PER_MICRO;
  return cost <= most ? cost : picoUsd(most);
}

const within = (hold: MicroUsd | null, amount: MicroUsd): MicroUsd => (hold === null || amount <= hold ? amount : hold);
