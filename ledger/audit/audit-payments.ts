import { type AccountBooks, compare, compareAmount, type OwnAttempt, type OwnFollowing, tell } from './own-account.ts';
import { isOfPlan, takePeriod } from './own-plan.ts';
import { isBefore } from './own-times.ts';
import type { GrantData, PaidData, PurchaseData, StoredEvent, UnpaidData } from './stored-event.ts';

/*
 * One attempt of a kind is open at a time, each is paid once and for its price, and what is paid is granted by the next event of
 * the same command: no payment without its credits, no payment twice.
 */

export function takePurchase(
  books: AccountBooks,
  { attemptId, provider, amount, price, startedAt }: PurchaseData,
): void {
  takeAttempt(books, attemptId, {
    ...{ kind: 'purchase', provider, credits: BigInt(amount), price: BigInt(price), startedAt },
    ...{ month: null, period: null },
  });
}

export function takeAttempt(
  books: AccountBooks,
  attemptId: string,
  begun: Pick<OwnAttempt, 'kind' | 'provider' | 'credits' | 'price' | 'month' | 'period' | 'startedAt'>,
): void {
  const { attempts, openAttempts, method: saved } = books;
  const method = begun.kind !== 'purchase' && saved?.provider === begun.provider ? saved.id : '';
  if (begun.credits === 0n || begun.price === 0n) tell(books, `${attemptId}: a payment of nothing, or for nothing`);
  if (attempts.has(attemptId)) tell(books, `${attemptId}: begun twice`);
  for (const openId of openAttempts)
    if (attempts.get(openId)?.kind === begun.kind && openId !== attemptId)
      tell(books, `${attemptId}: begun while ${openId} is open`);
  attempts.set(attemptId, {
    ...begun,
    method,
    ...{ isAnothers: false, isDeclined: false },
    ...{ paidBy: null, grantId: '' },
    refunds: new Map(),
    returned: new Map(),
    disputed: new Map(),
  });
  openAttempts.add(attemptId);
  countReload(books, begun, begun.price);
}

/** For its month's cap, in which is what is open, and what was paid. */
function countReload({ reloaded }: AccountBooks, { month }: Pick<OwnAttempt, 'month'>, price: bigint): void {
  if (month !== null) reloaded.set(month, (reloaded.get(month) ?? 0n) + price);
}

/** Also of an attempt that was given up. */
export function takePaid(books: AccountBooks, paid: PaidData, { metadata }: StoredEvent): void {
  const { attemptId, provider, paymentId, amount, paidAt } = paid;
  const attempt = books.attempts.get(attemptId);
  const name = nameOfCredits(books, paymentId);
  if (attempt === undefined) tell(books, `${attemptId}: paid, and was never begun`);
  else {
    if (attempt.paidBy !== null) tell(books, `${attemptId}: paid by ${paymentId}, and was paid by ${attempt.paidBy}`);
    compareAmount(books, `${attemptId}: what was paid`, amount, attempt.price);
    compare(books, `${attemptId}: where it was paid`, provider, attempt.provider);
    const isCounted = books.openAttempts.delete(attemptId) || attempt.paidBy !== null;
    if (!isCounted) countReload(books, attempt, attempt.price);
    attempt.paidBy = paymentId;
    attempt.grantId = name;
    books.paid.set(paymentId, attempt);
    if (attempt.kind === 'reload' && books.reload !== null)
      Object.assign(books.reload, { declines: 0, unanswered: 0, retryAt: '', skipped: null });
  }
  const credits = String(attempt?.credits ?? amount);
  const period = attempt === undefined ? {} : takePaidPeriod(books, attempt);
  const fields = { grantId: name, ...BOUGHT, amount: credits, costBasis: amount };
  const commandId = metadata?.commandId;
  const madeAt = attempt !== undefined && paidAt < attempt.startedAt ? attempt.startedAt : paidAt;
  const what = { name, madeAt, told: 'paid, and not granted' };
  books.following = { type: 'CreditsGranted', fields, commandId, ...what, ...period };
}

/** Where somebody has granted under it by hand, as could be done before, it is another one. */
function nameOfCredits({ grantOf, paid }: AccountBooks, paymentId: string): string {
  const name = `payment_${paymentId}`;
  // What pays a second time is told as that.
  const before = paid.get(paymentId);
  if (before !== undefined) return before.grantId;
  return grantOf.has(name) ? `payment_~${paymentId}` : name;
}

const BOUGHT = { source: 'purchase', expiresAt: 'null' };

/** The end of the period that is paid; none where it is of another plan by now, or of none: that is as bought. */
function takePaidPeriod({ plan }: AccountBooks, { kind, period }: OwnAttempt): { readonly until?: string } {
  if (plan === null || period === null || !isOfPlan(plan, kind, period)) return {};
  takePeriod(plan, kind, period);
  return { until: period.until };
}

/** How else one ends, or that it waits for whoever pays. */
export function takeOutcome(
  books: AccountBooks,
  { attemptId }: UnpaidData,
  { isOver }: { readonly isOver: boolean },
): void {
  const attempt = books.attempts.get(attemptId);
  if (attempt === undefined) return void tell(books, `${attemptId}: has an outcome, and was never begun`);
  if (!books.openAttempts.has(attemptId)) tell(books, `${attemptId}: has an outcome, and is not open`);
  else if (isOver) {
    books.openAttempts.delete(attemptId);
    countReload(books, attempt, -attempt.price);
  }
}

/** What an event says has to follow it in its command. @param event null at the end of the stream */
export function auditFollowing(books: AccountBooks, event: StoredEvent | null): void {
  if (books.following === null) return;
  const following = asWritten(books.following, event);
  books.following = following;
  if (following === null) return;
  const { type, fields, name, told, commandId, until, madeAt, then } = following;
  // What is over is written down before anything comes back.
  if (type === 'GrantRestored' && event?.type === 'CreditsExpired' && event.metadata?.commandId === commandId) return;
  if (event?.type !== type) {
    books.following = null;
    if (told !== null) tell(books, `${name}: ${told}`);
    return;
  }
  const said = event.data as Readonly<Record<string, unknown>>;
  const all =
    until !== undefined && isOfPeriod(event, until) ? { ...fields, source: 'plan', expiresAt: until } : fields;
  for (const [field, expected] of Object.entries(all))
    compare(books, `${name}: ${field} of its ${type}`, said[field], expected);
  compare(books, `${name}: the command of its ${type}`, event.metadata?.commandId, commandId);
  if (madeAt !== undefined) auditBegin(books, name, madeAt, event);
  // Whoever takes another asks whether it has to follow.
  if (type === 'GrantRestored') books.following = then ?? null;
}

/** Of what is written today, and what programs of before wrote, what was written here. */
function asWritten(following: OwnFollowing, event: StoredEvent | null): OwnFollowing | null {
  const { before, type, commandId } = following;
  if (before === undefined || isSaid(following, event)) return following;
  if (before !== null) return isSaid(before, event) ? before : following;
  return event?.type === type && event.metadata?.commandId === commandId ? following : null;
}

function isSaid({ type, fields, commandId }: OwnFollowing, event: StoredEvent | null): boolean {
  if (event?.type !== type || event.metadata?.commandId !== commandId) return false;
  const said = event.data as Readonly<Record<string, unknown>>;
  return Object.entries(fields).every(([field, expected]) => said[field] === expected);
}

/** What is told once its period is over is as bought, also where it was paid before; about the end it may be either, by whichever clock. */
function isOfPeriod({ data, metadata }: StoredEvent, until: string): boolean {
  const { effectiveAt, source } = data as GrantData;
  const toldAt = metadata?.recordedAt ?? effectiveAt;
  if (effectiveAt >= until || isBefore(until, toldAt)) return false;
  return isBefore(toldAt, until) || source === 'plan';
}

/** As it was paid; or as that was told: so did programs of before, and so it is where its provider's clock is ahead. */
function auditBegin(books: AccountBooks, name: string, madeAt: string, { data, metadata }: StoredEvent): void {
  const { effectiveAt } = data as GrantData;
  const toldAt = metadata?.recordedAt ?? effectiveAt;
  if (effectiveAt === madeAt || !(isBefore(effectiveAt, toldAt) || isBefore(toldAt, effectiveAt))) return;
  tell(books, `${name}: when its credits begin`, effectiveAt, madeAt);
}
