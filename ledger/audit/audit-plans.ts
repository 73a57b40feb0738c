import { takeAttempt } from './audit-payments.ts';
import { isWhollyBack } from './audit-refunds.ts';
import { isOfMethodBefore } from './audit-reload.ts';
import { type AccountBooks, compare, compareAmount, type OwnFollowing, tell } from './own-account.ts';
import {
  beginsIn,
  monthsAfter,
  type OwnListedPlan,
  type OwnPaidPeriod,
  type OwnPlanState,
  takePeriod,
  wantedFrom,
} from './own-plan.ts';
import type { PlanChangedData, PlanEndedData, RenewalData, StoredEvent } from './stored-event.ts';

/*
 * A period is of the plan that was asked for, as the catalog that it names has it; it begins where the one before ends, or later, and no
 * period is paid twice. What a dearer plan costs more for the rest of one is counted in days. A plan ends unpaid where its grace is over,
 * and its newest attempt was answered: an outage ends none. It is cancelled where that was asked for, or all of its money went back,
 * and what was to follow it then begins all the same, unless something else is asked for.
 */

export function takePlanChanged(
  books: AccountBooks,
  { plan, terms = null }: PlanChangedData,
  { metadata }: StoredEvent,
): void {
  books.following = null;
  if (terms === null) return;
  const { catalogVersion, effectiveAt, anchorAt, periodEnd } = terms;
  const before = books.plan;
  if (catalogVersion === null) {
    if (before === null) return void tell(books, 'plan: is to end, and there is none');
    const name = `plan ${before.plan}`;
    const fields = { plan: before.plan, reason: 'cancelled', at: effectiveAt };
    const told = `is to end at ${effectiveAt}, should be ${before.paidUntil}, or at once`;
    if (effectiveAt !== before.paidUntil)
      books.following = { type: 'PlanEnded', fields, commandId: metadata?.commandId, name, told };
    Object.assign(before, { wanted: { plan: '', from: effectiveAt }, upgrade: '' });
    return;
  }
  const listed = books.planOf(catalogVersion, plan);
  if (listed === null) tell(books, `plan ${plan}: the catalog ${catalogVersion} has none`);
  else compare(books, `plan ${plan}: its product`, listed.product, books.statements.product);
  const isNew = before === null || before.anchorAt !== anchorAt;
  if (isNew && before !== null && before.paidUntil !== '')
    tell(books, `plan ${plan}: begins anew, and ${before.plan} is paid until ${before.paidUntil}`);
  const until = isNew || before.paidUntil === '' ? beginsIn(anchorAt, monthsAfter(anchorAt, 1)) : before.paidUntil;
  compare(books, `plan ${plan}: the end of its period`, periodEnd, until);
  if (isNew)
    books.plan = {
      ...{ plan, version: catalogVersion, anchorAt, paidUntil: '', overdraft: 0n },
      ...{ paidFrom: '', paidFor: '', since: '', dearer: [] },
      ...{ upgrade: '', due: null, wanted: null },
    };
  else {
    before.upgrade = '';
    if (plan === before.plan) before.wanted = null;
    else if (effectiveAt >= before.paidUntil) before.wanted = { plan, from: effectiveAt };
  }
}

export function takeRenewal(books: AccountBooks, claim: RenewalData, event: StoredEvent): void {
  const { attemptId, kind, plan, catalogVersion, periodStart, periodEnd, provider } = claim;
  const own = books.plan;
  if (own === null) return void tell(books, `${attemptId}: is of plan ${plan}, and the account has none`);
  const listed = books.planOf(catalogVersion, plan);
  if (listed === null) tell(books, `${attemptId}: names plan ${plan} of the catalog ${catalogVersion}, which has none`);
  else {
    compare(books, `${attemptId}: the product of its plan`, listed.product, books.statements.product);
    compareAmount(books, `${attemptId}: what may be owed`, claim.overdraft, BigInt(listed.overdraft));
  }
  if (kind === 'renewal') auditPeriod(books, own, claim);
  else auditUpgrade(books, own, claim);
  const period: OwnPaidPeriod = {
    plan,
    version: catalogVersion,
    from: periodStart,
    until: periodEnd,
    overdraft: BigInt(claim.overdraft),
  };
  const [price, credits] = [BigInt(claim.price), BigInt(claim.credits)];
  if (price > 0n) {
    takeAttempt(books, attemptId, { kind, provider, credits, price, startedAt: claim.startedAt, month: null, period });
    return;
  }
  takePeriod(own, kind, period);
  own.paidFrom = '';
  const fields = { grantId: attemptId, source: 'plan', amount: claim.credits, costBasis: '0', expiresAt: periodEnd };
  const commandId = event.metadata?.commandId;
  books.following = { type: 'CreditsGranted', fields, commandId, name: attemptId, told: 'begun, and nothing granted' };
}

export function takePlanEnded(
  books: AccountBooks,
  { plan, reason, at }: PlanEndedData,
  { metadata }: StoredEvent,
): void {
  const { plan: own, attempts, openAttempts, life } = books;
  books.following = null;
  books.plan = null;
  if (own === null) return void tell(books, `plan ${plan}: has ended, and there was none`);
  compare(books, 'which plan has ended', plan, own.plan);
  if (reason !== 'unpaid') {
    const isAskedFor = own.wanted !== null && own.wanted.plan === '' && own.wanted.from <= at;
    if (!isAskedFor && !isPaidBack(books, own))
      tell(
        books,
        `plan ${plan}: has ended as cancelled, and nobody asked for its end, nor is what was paid for it back`,
      );
    else if (!isAskedFor) books.following = askedInstead(books, own, metadata?.commandId);
    return;
  }
  const { due } = own;
  if (due === null || at < due.graceUntil)
    tell(books, `plan ${plan}: has ended unpaid`, at, due === null ? null : `${due.graceUntil} or later`);
  if (due !== null && due.plan !== wantedFrom(own, due.from))
    tell(books, `plan ${plan}: has ended unpaid, and ${due.attemptId}, its newest attempt, is of plan ${due.plan}`);
  if (due === null || due.isDeclined || due.provider === 'manual') return;
  // Declined while another method was saved it says nothing of that; it does where its own is saved again, or none, or nothing may be begun.
  const newest = attempts.get(due.attemptId);
  if (newest?.isDeclined === true && (life.isSuspended || !isOfMethodBefore(books, newest.method))) return;
  if (openAttempts.has(due.attemptId) || due.attempts < ATTEMPTS_GIVEN_UP)
    tell(books, `plan ${plan}: has ended unpaid, and ${due.attemptId} was never answered`);
}

/** Where another plan was to follow, what is asked for in its place: nothing else drops it. Where an attempt is in the way, one has to ask again. */
function askedInstead(
  { attempts, openAttempts }: AccountBooks,
  { plan, wanted }: OwnPlanState,
  commandId: string | undefined,
): OwnFollowing | null {
  const isInTheWay = [...openAttempts].some((id) => attempts.get(id)?.period !== null);
  if (wanted === null || isInTheWay) return null;
  const told = `has ended as cancelled, and ${wanted.plan} was to follow it`;
  return { type: 'PlanChanged', fields: {}, commandId, name: `plan ${plan}`, told };
}

/**
 * Whether of what was paid for its period, as of that plan, whichever attempt that was of, and for dearer ones within it, nothing is here.
 * It is not asked why one of which that is so was renewed: programs of before did.
 */
function isPaidBack({ attempts }: AccountBooks, own: OwnPlanState): boolean {
  const payments = [...attempts.values()].filter(
    ({ kind, paidBy, period }) => paidBy !== null && period !== null && isPaidFor(own, kind, period),
  );
  return payments.length > 0 && payments.every(isWhollyBack);
}

/** What was asked for by a clock that is behind may be before the period's begin; what was before a plan of before is by days. */
const isOfItsTime = (from: string, since: string): boolean => Date.parse(from) > Date.parse(since) - DAY_MS / 2;

const isPaidFor = (own: OwnPlanState, kind: string, { plan, from }: OwnPaidPeriod): boolean =>
  kind === 'renewal'
    ? from === own.paidFrom && plan === own.paidFor
    : isOfItsTime(from, own.since) && own.dearer.includes(plan);

/** Of one period: after the last of them it is taken for unpaid, though nobody has declined it. */
const ATTEMPTS_GIVEN_UP = 4;

function auditPeriod(books: AccountBooks, own: OwnPlanState, claim: RenewalData): void {
  const { attemptId, provider, plan, catalogVersion, periodStart, periodEnd, graceUntil, startedAt } = claim;
  compare(books, `${attemptId}: its plan`, plan, wantedFrom(own, startedAt));
  const [from, until] = [0, 1].map((months) => beginsIn(own.anchorAt, monthsAfter(periodStart, months)));
  if (periodStart !== from || periodEnd !== until)
    tell(books, `${attemptId}: its period`, `${periodStart} to ${periodEnd}`, `${from} to ${until}`);
  if (periodStart < own.paidUntil) tell(books, `${attemptId}: begins`, periodStart, `${own.paidUntil} or later`);
  if (startedAt < periodStart) tell(books, `${attemptId}: is begun`, startedAt, `${periodStart} or later`);
  if (startedAt >= periodEnd) tell(books, `${attemptId}: is begun`, startedAt, `before ${periodEnd}`);
  const listed = books.planOf(catalogVersion, plan);
  if (listed !== null) {
    compareAmount(books, `${attemptId}: its price`, claim.price, BigInt(listed.price));
    compareAmount(books, `${attemptId}: its credits`, claim.credits, BigInt(listed.credits));
  }
  const again = own.due?.from === periodStart ? own.due : null;
  const begins = new Map(again?.begins);
  if (!begins.has(plan)) begins.set(plan, startedAt);
  if (listed !== null) auditGrace(books, claim, listed, { again, over: own.due, first: begins.get(plan) ?? startedAt });
  const { attempts, noes } = again ?? { attempts: 0, noes: [] };
  const counts = { attempts: attempts + 1, noes };
  own.due = { from: periodStart, plan, graceUntil, begins, ...counts, attemptId, provider, isDeclined: false };
}

/** From the plan's own first attempt of the period on; behind another plan's, no longer than until the end of it. */
function auditGrace(
  books: AccountBooks,
  { attemptId, provider, plan, periodEnd, graceUntil, startedAt }: RenewalData,
  { graceDays }: OwnListedPlan,
  {
    again,
    over,
    first,
  }: { readonly again: OwnPlanState['due']; readonly over: OwnPlanState['due']; readonly first: string },
): void {
  const after = (instant: string): string => new Date(Date.parse(instant) + graceDays * DAY_MS).toISOString();
  const isLate = (until: string): boolean => provider === 'manual' && startedAt >= until;
  const isSame = again?.plan === plan;
  const before = again !== null && isSame ? again.graceUntil : after(first);
  // By hand, and past the grace of those before it, it has one of its own.
  const until = isLate(before) ? after(startedAt) : before;
  const should = again === null || isSame || until < periodEnd ? until : periodEnd;
  // Programs of before gave it none, and another plan what was left of the one before.
  const isOfBefore =
    again !== null &&
    (isLate(again.graceUntil) || !isSame) &&
    (graceUntil === again.graceUntil || (isLate(again.graceUntil) && graceUntil === after(startedAt)));
  // Behind a period that went by unpaid, and for which another plan was tried, too, it has none; programs of before asked for a decline of that.
  const isInTurns =
    again === null && over?.begins.keys().some((tried) => tried !== plan) === true && provider !== 'manual';
  if (!isOfBefore && !(isInTurns && graceUntil === startedAt))
    compare(books, `${attemptId}: the end of its grace`, graceUntil, should);
}

/** By what the plan costs and gives a day more, for each day until the end of the period. */
function auditUpgrade(books: AccountBooks, own: OwnPlanState, claim: RenewalData): void {
  const { attemptId, plan, catalogVersion, periodStart, periodEnd } = claim;
  compare(books, `${attemptId}: the end of its period`, periodEnd, own.paidUntil);
  own.upgrade = plan;
  const [before, after] = [books.planOf(own.version, own.plan), books.planOf(catalogVersion, plan)];
  if (before === null || after === null) return;
  const from = beginsIn(own.anchorAt, monthsAfter(periodEnd, -1));
  const days = BigInt(daysBetween(from, periodEnd));
  // By a clock that is behind it may be asked for before the period's first day.
  const left = BigInt(daysBetween(periodStart > from ? periodStart : from, periodEnd));
  const cents = ((BigInt(after.price) - BigInt(before.price)) / CENT) * left;
  const credits = (BigInt(after.credits) - BigInt(before.credits)) * left;
  compareAmount(books, `${attemptId}: its price`, claim.price, ((cents - (cents % days)) / days) * CENT);
  compareAmount(books, `${attemptId}: its credits`, claim.credits, credits / days + (credits % days === 0n ? 0n : 1n));
}

const CENT = 10_000n;
const DAY_MS = 86_400_000;

/** One that has begun counts. */
function daysBetween(from: string, until: string): number {
  let days = 0;
  for (let atMs = Date.parse(until); atMs > Date.parse(from); atMs -= DAY_MS) days++;
  return days;
}
