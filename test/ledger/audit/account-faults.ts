import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountCommand, CommandRefusalCode } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import { Reversals } from '../../../ledger/audit/audit-reversals.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import type { PlanOf } from '../../../ledger/audit/own-plan.ts';
import type { OwnCard, StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { planIn } from '../../../ledger/catalog/known-plans.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, CARD, grant, granted, ms, opened } from '../../fixtures/ledger/example-account.ts';
import { BIG, catalogOf, OPEN_SOURCE, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

/**
 * What the decider would have refused, or have written nothing for, and stands in the stream all the same: by each command,
 * for each reason. A reason that is new in ledger/account has no case here, and is told of.
 */
export interface Case {
  /** `nothing` where it decides that there is nothing to write, `throws` where it is no decision at all. */
  readonly refused: CommandRefusalCode | 'nothing' | 'throws';
  readonly life: readonly AccountEvent[];
  readonly command: AccountCommand;
  readonly written: readonly AccountEvent[];
  readonly fault: RegExp;
}

const NOW = ms('2026-11-20T10:00:00.000Z');

/** What plans there are in all of these lives. */
export const catalogOfFaults = catalogOf(STARTER, TEAM, OPEN_SOURCE, BIG);

/** As it stands in the log. */
const planOf: PlanOf = (version, id) => {
  const plan = planIn(catalogOfFaults, id, version);
  if (plan === null) return null;
  const { price, credits, overdraft } = plan;
  return { ...plan, price: `${price}`, credits: `${credits}`, overdraft: `${overdraft}` };
};

/** @param change of what stands in the log, by its revision */
export function faultsOf(
  events: readonly AccountEvent[],
  change: (event: StoredEvent) => StoredEvent = (event) => event,
): string[] {
  const { rates } = CARD;
  const card: OwnCard = { ...rates, hasFastLane: true, uses: new Map() };
  const audit = new AccountAudit(ACCOUNT, () => card, { planOf });
  const recorded = recordedLife(events.map((one) => ({ event: one, atMs: NOW })));
  for (const event of recorded) audit.take(change(storedOf(event)));
  audit.end();
  const faults: Parameters<typeof describeFault>[0][] = [...audit.books.faults];
  const { stream } = recorded[0] ?? { stream: '' };
  const ofStream = audit.books.reversals.map((one) => ({ ...one, stream }));
  const reversals = new Reversals(ofStream, (fault) => faults.push(fault));
  for (const event of recorded) reversals.take(event);
  reversals.end();
  return faults.map(describeFault);
}

const storedOf = (event: RecordedEvent) => ({
  ...event,
  data: JSON.parse(event.data),
  metadata: JSON.parse(event.metadata),
});

/** Each line at twice its rate, as though another card had been taken. */
export function dearer(events: readonly AccountEvent[]): AccountEvent[] {
  return events.map((event) => {
    if (event.type !== 'CreditsDebited' && event.type !== 'LateUsageReported') return event;
    const lines = event.data.lines.map((line) => ({ ...line, rate: line.rate * 2n, cost: line.cost * 2n }));
    return { ...event, data: { ...event.data, lines } } as AccountEvent;
  });
}

export function ofOutcome(event: AccountEvent, outcome: 'recovered'): AccountEvent {
  if (event.type !== 'LateUsageReported') return event;
  return { ...event, data: { ...event.data, usage: { ...event.data.usage, outcome } } };
}

/** As many grants with long ids as one debit could name, and one more. */
export function manyGrants(): { readonly life: readonly AccountEvent[]; readonly more: string } {
  const life = [opened];
  for (let number = 0; ; number++) {
    const more = `${number}${'g'.repeat(1_990)}`;
    if ('type' in decide(grant(more, 5), fold(life))) return { life, more };
    life.push(granted(more, 5));
  }
}
