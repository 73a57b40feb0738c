import type { AccountEvent, EventData, UsageRecorded } from '../../contracts/events.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd, PICO_PER_MICRO, type PicoUsd, picoUsd } from '../../contracts/money.ts';
import { NOTHING } from './account-state.ts';
import type { BillingException, ExceptionEnd, ExceptionsState } from './exceptions-state.ts';
import { keptAmount } from './kept-amount.ts';
import { entryOf, withEntry, withoutEntry } from './keyed-tree.ts';

/**
 * Exceptions with no money in them (usage without a price) that an account's state keeps open. What comes beyond is
 * counted; each stands in its own `UsageRecorded`. Without the bound a provider that starts to report a tier nobody has
 * priced would make every account a list of all its traffic. Exceptions about money are all kept.
 */
export const WITHOUT_COST_MAX = 1_000;

/**
 * What the ledger could not debit as it came, by request: one exception a request, with all its reasons. Nothing writes
 * an exception down; it follows from what was recorded, so it cannot be forgotten, and ends by an operator's word only.
 */
export function evolveExceptions(exceptions: ExceptionsState, event: AccountEvent): ExceptionsState {
  switch (event.type) {
    case 'UsageRecorded': {
      const recorded = { ...exceptions, lastUsage: nextUsage(exceptions, event.data) };
      return event.data.unpriced.length === 0 ? recorded : withoutPrice(recorded, event.data);
    }
    case 'CreditsDebited': {
      const usage = usageOfDebit(exceptions, event.data);
      return event.data.leftOut === 0n ? exceptions : withLeftOut(exceptions, event.data, usage);
    }
    case 'LateUsageReported':
      return withLateUsage(exceptions, event.data);
    case 'ExceptionApproved':
      return ended(exceptions, event.data.requestId, 'approved');
    case 'ExceptionDropped':
      return ended(exceptions, event.data.requestId, 'dropped');
    default:
      return exceptions;
  }
}

/** What an approval debits, exact. */
export const costOfException = ({ leftOut, late }: BillingException): PicoUsd =>
  picoUsd(leftOut * PICO_PER_MICRO + (late ?? 0n));

/** The same in whole micro-USD, without the account's carry. */
export const amountOfException = (exception: BillingException): MicroUsd =>
  microUsd(costOfException(exception) / PICO_PER_MICRO);

/** Why there is one, for people. */
export function reasonsOf({ leftOut, late, unpriced }: BillingException): string[] {
  const reasons = unpriced.map((what) => (what.endsWith(' cannot be read') ? what : `no price for ${what}`));
  if (leftOut > 0n) reasons.unshift('beyond its hold');
  if (late !== null) reasons.unshift('reported late');
  return reasons;
}

export const openException = ({ open }: ExceptionsState, requestId: string): BillingException | undefined =>
  entryOf(open, requestId);

/** How the exception of a request ended; undefined where it is open, or there is none. */
export const endOfException = ({ ended }: ExceptionsState, requestId: string): ExceptionEnd | undefined =>
  entryOf(ended, requestId);

type LastUsage = NonNullable<ExceptionsState['lastUsage']>;

/** Of what is recorded, for a debit that follows. @throws Error where it is what was recorded last, once more */
export function nextUsage({ lastUsage }: ExceptionsState, usage: UsageRecorded): LastUsage {
  if (lastUsage?.requestId === usage.requestId) throw new Error(`the usage of ${usage.requestId} is recorded twice`);
  return instantsOf(usage);
}

/** @throws Error where the debit does not stand behind its usage */
export function usageOfDebit(
  { lastUsage }: ExceptionsState,
  { requestId }: Pick<EventData<'CreditsDebited'>, 'requestId'>,
): LastUsage {
  if (lastUsage?.requestId !== requestId) throw new Error(`${requestId} is debited without its usage`);
  return lastUsage;
}

const instantsOf = ({ requestId, startedAt, finishedAt }: UsageRecorded) => ({
  requestId,
  startedAtMs: Date.parse(startedAt),
  finishedAtMs: Date.parse(finishedAt),
});

function withoutPrice(exceptions: ExceptionsState, usage: UsageRecorded): ExceptionsState {
  if (exceptions.withoutCost >= WITHOUT_COST_MAX) return { ...exceptions, unlisted: exceptions.unlisted + 1 };
  return withOpen(exceptions, { ...ofUsage(usage), unpriced: usage.unpriced });
}

/** What is left out is of the usage, which has the instants that grants are burned by. */
function withLeftOut(
  exceptions: ExceptionsState,
  debit: EventData<'CreditsDebited'>,
  usage: LastUsage,
): ExceptionsState {
  const { requestId, keyId, model, lane, leftOut } = debit;
  const known = openException(exceptions, requestId);
  return withOpen(exceptions, {
    ...(known ?? { ...usage, keyId, model, lane, late: null, unpriced: [] }),
    leftOut,
  });
}

function withLateUsage(exceptions: ExceptionsState, { usage, cost }: EventData<'LateUsageReported'>): ExceptionsState {
  const known = openException(exceptions, usage.requestId) ?? ofUsage(usage);
  const unpriced = [...known.unpriced, ...usage.unpriced];
  return withOpen(exceptions, { ...known, ...instantsOf(usage), lane: usage.lane, late: cost, unpriced });
}

const ofUsage = (usage: UsageRecorded): BillingException => {
  const { keyId, model, lane } = usage;
  return { ...instantsOf(usage), keyId, model, lane, leftOut: NOTHING, late: null, unpriced: [] };
};

function withOpen(exceptions: ExceptionsState, exception: BillingException): ExceptionsState {
  const { requestId } = exception;
  const others = withoutInSum(exceptions, openException(exceptions, requestId));
  return {
    ...others,
    open: withEntry(exceptions.open, requestId, exception),
    openCount: others.openCount + 1,
    openAmount: keptAmount(others.openAmount + amountOfException(exception)),
    withoutCost: others.withoutCost + hasNoCost(exception),
  };
}

function ended(exceptions: ExceptionsState, requestId: RequestId, how: ExceptionEnd): ExceptionsState {
  const exception = openException(exceptions, requestId);
  if (exception === undefined) throw new Error(`${requestId} has no open exception`);
  return {
    ...withoutInSum(exceptions, exception),
    open: withoutEntry(exceptions.open, requestId),
    ended: withEntry(exceptions.ended, requestId, how),
  };
}

/** What the counts and sums are without one of the open ones. */
function withoutInSum(exceptions: ExceptionsState, exception: BillingException | undefined): ExceptionsState {
  if (exception === undefined) return exceptions;
  return {
    ...exceptions,
    openCount: exceptions.openCount - 1,
    openAmount: microUsd(exceptions.openAmount - amountOfException(exception)),
    withoutCost: exceptions.withoutCost - hasNoCost(exception),
  };
}

const hasNoCost = (exception: BillingException): 0 | 1 => (costOfException(exception) === 0n ? 1 : 0);
