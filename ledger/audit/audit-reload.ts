import { takeAttempt, takeOutcome } from './audit-payments.ts';
import { isUsableAt } from './burn-own.ts';
import { type AccountBooks, compare, compareAmount, type OwnAttempt, type OwnReload, tell } from './own-account.ts';
import { isOfPlan } from './own-plan.ts';
import { instantMs } from './own-times.ts';
import type {
  FailedData,
  GivenUpData,
  MethodSavedData,
  ReloadSetData,
  ReloadStartedData,
  SkippedData,
  StoredEvent,
} from './stored-event.ts';

/*
 * An auto-reload is begun where no more is left than its threshold, of as many whole cents as bring it to its target, and where
 * nothing is against it, such as a plan's period that is about to bring credits; its month, by the claims, has no more than its cap. A reason for none is told where it is new.
 */

const CENT = 10_000n;
const HOUR_MS = 3_600_000;
/** From the first that came to nothing to another attempt, from the second, and from each later one; the fourth failure pauses. */
const WAITS_MS = [HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS];
/** The same of a plan's period, after each of its attempts; the fourth failure is the last. */
const RENEWAL_WAITS_MS = [86_400_000, 172_800_000, 345_600_000];

/** With a method that was declined it stays paused under other terms, or is from here on. */
export function takeReloadSet(books: AccountBooks, said: ReloadSetData, { metadata }: StoredEvent): void {
  const [threshold, target, cap] = [BigInt(said.threshold), BigInt(said.target), BigInt(said.monthlyCap)];
  if (target <= threshold) tell(books, 'auto-reload: its target is not above its threshold');
  if (cap < target - threshold) tell(books, 'auto-reload: its cap is less than a single reload');
  const before = books.reload;
  books.reload = { consentedAt: said.consentedAt, threshold, target, cap, ...anew() };
  if (said.consentedAt === null || books.method === null || before === null || before.consentedAt === null) return;
  if (before.threshold === threshold && before.target === target && before.cap === cap) return;
  const fields = { at: said.consentedAt };
  const what = { name: 'auto-reload', told: null };
  books.following = { type: 'AutoReloadPaused', fields, commandId: metadata?.commandId, ...what };
}

export function takeMethod(books: AccountBooks, { provider, paymentMethodId, consentedAt }: MethodSavedData): void {
  if (books.method === null && consentedAt < books.methodRemovedAt)
    tell(
      books,
      `${paymentMethodId}: saved by the consent of ${consentedAt}, and withdrawn at ${books.methodRemovedAt}`,
    );
  books.method = { provider, id: paymentMethodId };
  if (books.reload !== null) Object.assign(books.reload, anew());
}

/** As nothing has been in vain. */
const anew = () => ({ declines: 0, unanswered: 0, isPaused: false, retryAt: '', skipped: null });

export function takeReload(books: AccountBooks, started: ReloadStartedData): void {
  const { attemptId, provider, amount, price, startedAt, monthTotal } = started;
  const { reload } = books;
  const month = startedAt.slice(0, 7);
  compareAmount(books, `${attemptId}: its price`, price, BigInt(amount));
  compareAmount(books, `${attemptId}: what the month had before it`, monthTotal, books.reloaded.get(month) ?? 0n);
  if (reload === null) tell(books, `${attemptId}: begun, and auto-reload was never configured`);
  else {
    const level = levelAt(books, reload, startedAt);
    compareAmount(books, `${attemptId}: what could be spent before it`, started.balance, positive(level.free));
    compareAmount(books, `${attemptId}: what was open before it`, started.pending, level.pending);
    compareAmount(books, `${attemptId}: what is bought`, amount, level.wanted);
    const against = whyNot(books, reload, level, startedAt);
    if (against !== null) tell(books, `${attemptId}: begun, and none may be`, against);
    reload.skipped = null;
  }
  takeAttempt(books, attemptId, {
    kind: 'reload',
    provider,
    credits: BigInt(amount),
    price: BigInt(price),
    month,
    startedAt,
    period: null,
  });
}

export function takeSkipped(books: AccountBooks, { reason, at }: SkippedData): void {
  const { reload } = books;
  if (reload === null) return void tell(books, 'auto-reload: skipped, and was never configured');
  if (reload.skipped === reason) tell(books, `auto-reload: skipped again, as before: ${reason}`);
  compare(
    books,
    'auto-reload: why it is skipped',
    reason,
    whyNot(books, reload, levelAt(books, reload, at), at) ?? 'nothing',
  );
  reload.skipped = reason;
}

/** Nobody is there to try a reload again: another is begun later, or it is paused by what follows. */
export function takeFailed(books: AccountBooks, failed: FailedData, { metadata }: StoredEvent): void {
  takeOutcome(books, failed, { isOver: true });
  const { attemptId, code, isTerminal, failedAt, nextAttemptAt, declinedMethodId } = failed;
  const attempt = books.attempts.get(attemptId);
  if (attempt !== undefined && declinedMethodId !== undefined) takeAnothers(books, attempt, failed);
  if (attempt !== undefined) attempt.isDeclined = true;
  const reload = attempt?.kind === 'reload' ? books.reload : null;
  const { plan } = books;
  const period = attempt?.kind === 'renewal' ? attempt.period : null;
  const due = plan !== null && plan.due !== null && plan.due.from === period?.from ? plan.due : null;
  const renewals = plan !== null && period !== null && isOfPlan(plan, 'renewal', period) ? due : null;
  const isOfBefore = (its: string): boolean => isOfMethodBefore(books, its);
  // Programs of before took it for one of the method that is saved by now, of which it says nothing.
  const isAtOnce = nextAttemptAt === failedAt || declinedMethodId !== undefined;
  if ((reload ?? renewals) !== null && isAtOnce && isOfBefore(attempt?.method ?? '')) {
    compare(books, `${attemptId}: when another may be begun`, nextAttemptAt ?? 'never', failedAt);
    if (reload !== null) reload.retryAt = '';
    return;
  }
  // Programs of before counted what nobody has answered among the failures, and have begun no other by that.
  const inVain = reload === null ? (renewals?.attempts ?? 0) - 1 : reload.declines + reload.unanswered;
  const isAsBefore = nextAttemptAt === null && inVain > 2;
  // What was paid after all is none.
  const isNo = (id: string): boolean => {
    const { method = '', paidBy = null } = books.attempts.get(id) ?? {};
    return paidBy === null && !isOfBefore(method);
  };
  const noes = renewals?.noes.filter(isNo).length;
  // Programs of before went on with a method however often it was declined.
  const isTooOften = (): boolean => nextAttemptAt === null && isDeclinedOften(books, attempt?.method ?? '', failedAt);
  const isLast = isTerminal || isAsBefore || (reload?.declines ?? noes ?? 3) > 2 || isTooOften();
  const waits = reload === null ? RENEWAL_WAITS_MS[Math.min(inVain, 2)] : waitOf(reload);
  const waitMs = isLast ? undefined : waits;
  if (due !== null) due.isDeclined = true;
  due?.noes.push(attemptId);
  const next = waitMs === undefined ? 'never' : new Date(instantMs(failedAt) + waitMs).toISOString();
  compare(books, `${attemptId}: when another may be begun`, nextAttemptAt ?? 'never', next);
  if (reload === null) return;
  reload.declines += 1;
  reload.retryAt = nextAttemptAt ?? '';
  if (waitMs !== undefined) return;
  // What is paused is not paused again; programs of before have.
  const told = reload.isPaused ? null : 'failed for good, and auto-reload is not paused';
  const what = { name: attemptId, told };
  books.following = { type: 'AutoReloadPaused', fields: { reason: code }, commandId: metadata?.commandId, ...what };
}

/** Another method than it was begun with was declined: eight times for the same, one after another, and then it is given up. */
function takeAnothers(
  books: AccountBooks,
  attempt: OwnAttempt,
  { attemptId, declinedMethodId = '' }: FailedData,
): void {
  if (declinedMethodId === attempt.method)
    tell(books, `${attemptId}: is said to be of another method than it was begun with, which ${declinedMethodId} is`);
  attempt.method = declinedMethodId;
  attempt.isAnothers = true;
  const { kind, period } = attempt;
  const ofTheSame = [...books.attempts.values()].filter(
    (one) => one.kind === kind && one.period?.from === period?.from,
  );
  const isIt = (one: OwnAttempt): boolean =>
    one.isAnothers && one.paidBy === null && isOfMethodBefore(books, one.method);
  const ended = ofTheSame.findLastIndex((one) => !isIt(one));
  // Reloads have no numbers: whoever decides knows their order by their clocks alone.
  const isSince = ({ startedAt }: OwnAttempt): boolean =>
    kind === 'renewal' || ofTheSame.every((one) => isIt(one) || one.startedAt <= startedAt);
  const inARow = ofTheSame.slice(ended + 1).filter(isSince).length;
  if (inARow > 8)
    tell(books, `${attemptId}: declined of another method than it was begun with`, `${inARow} times`, '8');
}

/** Within 30 days, by which networks of cards count: what was paid after all is no decline. @param its '' is none */
function isDeclinedOften({ attempts }: AccountBooks, its: string, at: string): boolean {
  const sinceMs = instantMs(at) - 30 * 24 * HOUR_MS;
  let declines = 0;
  for (const { method, isDeclined, paidBy, startedAt } of attempts.values())
    if (method === its && isDeclined && paidBy === null && instantMs(startedAt) > sinceMs) declines += 1;
  return its !== '' && declines > 14;
}

/** Whether it is another than the one that is saved. @param its '' is none */
export const isOfMethodBefore = ({ method }: Pick<AccountBooks, 'method'>, its: string): boolean =>
  method !== null && its !== '' && its !== method.id;

/** One of terms that stand no more says nothing of those that do; another waits as after a decline, and what an operator says for the fourth time pauses. */
export function takeGivenUp(books: AccountBooks, given: GivenUpData, { metadata }: StoredEvent): void {
  takeOutcome(books, given, { isOver: true });
  const { attemptId, at, endedBy = null } = given;
  const { reload, plan } = books;
  const { startedAt, provider, kind, period, method = '' } = books.attempts.get(attemptId) ?? {};
  const due = plan?.due ?? null;
  // Who takes money by hand, too.
  const isByOperator = provider === 'manual' || endedBy !== null;
  if (due !== null && kind === 'renewal' && due.from === period?.from && isByOperator) {
    due.noes.push(attemptId);
    due.isDeclined = true;
  }
  if (startedAt === undefined || kind !== 'reload') return;
  if (reload === null || reload.consentedAt === null || startedAt < reload.consentedAt) return;
  reload.retryAt = new Date(instantMs(at) + waitOf(reload)).toISOString();
  const isNo = isByOperator && !isOfMethodBefore(books, method);
  const isLast = isNo && reload.declines > 2;
  // Programs of before have paused it whoever has given up.
  const mayPause = reload.declines + reload.unanswered > 2;
  if (isNo) reload.declines += 1;
  else reload.unanswered += 1;
  if (!mayPause) return;
  const told = isLast && !reload.isPaused ? 'given up once more, and auto-reload is not paused' : null;
  books.following = {
    type: 'AutoReloadPaused',
    fields: { reason: 'given_up' },
    commandId: metadata?.commandId,
    name: attemptId,
    told,
  };
}

const waitOf = ({ declines, unanswered }: OwnReload): number => WAITS_MS[Math.min(declines + unanswered, 2)] ?? 0;

export function takePaused(books: AccountBooks): void {
  const { reload, following } = books;
  books.following = null;
  if (reload === null) return void tell(books, 'auto-reload: paused, and was never configured');
  if (following === null) tell(books, 'auto-reload: paused, and no reload has failed for good');
  if (reload.isPaused && following === null) tell(books, 'auto-reload: paused, and is paused already');
  reload.isPaused = true;
}

interface Level {
  /** What could be spent, less what is owed. */
  readonly free: bigint;
  readonly pending: bigint;
  /** One is open that brings a plan's credits. */
  readonly hasPlanAttempt: boolean;
  readonly wanted: bigint;
}

function levelAt(
  { grants, uncovered, attempts, openAttempts }: AccountBooks,
  { target }: OwnReload,
  at: string,
): Level {
  const atMs = instantMs(at);
  let [free, pending, hasPlanAttempt] = [-uncovered, 0n, false];
  for (const grant of grants) if (grant.remaining > 0n && isUsableAt(grant, atMs)) free += grant.remaining;
  for (const id of openAttempts) {
    const attempt = attempts.get(id);
    if (attempt?.kind === 'reload') pending += attempt.price;
    else if (attempt?.kind === 'renewal' || attempt?.kind === 'upgrade') hasPlanAttempt = true;
  }
  const missing = positive(target - free - pending);
  return { free, pending, hasPlanAttempt, wanted: missing + ((CENT - (missing % CENT)) % CENT) };
}

/** The first of what is against another reload; null where nothing is. */
function whyNot(
  { life, method, reloaded, plan }: AccountBooks,
  { consentedAt, threshold, cap, isPaused, retryAt }: OwnReload,
  { free, pending, hasPlanAttempt, wanted }: Level,
  at: string,
): string | null {
  if (free + pending > threshold)
    return `${free + pending} micro-USD are left, of a threshold of ${threshold} micro-USD`;
  if (consentedAt === null || at < consentedAt) return 'disabled';
  if (life.isSuspended) return 'suspended';
  if (isPaused) return 'paused';
  if (pending > 0n || hasPlanAttempt || isDue(plan, at)) return 'pending';
  if (at < retryAt) return 'backoff';
  if (method === null) return 'no_payment_method';
  return (reloaded.get(at.slice(0, 7)) ?? 0n) + wanted > cap ? 'cap' : null;
}

/** The end of what is paid has come, and nobody was asked for more so far. */
function isDue(plan: AccountBooks['plan'], at: string): boolean {
  if (plan === null || plan.due !== null) return false;
  const isLast = plan.wanted !== null && plan.wanted.plan === '' && plan.wanted.from <= at;
  return !isLast && at >= (plan.paidUntil === '' ? plan.anchorAt : plan.paidUntil);
}

const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
