import { tellUnreasoned } from './audit-coming-back.ts';
import { type AccountBooks, type OwnAttempt, type OwnFollowing, tell } from './own-account.ts';
import type { DisputeClosedData, DisputedData, RefundedData, StoredEvent } from './stored-event.ts';

/*
 * Money that went back takes the same part of its credits with it, by the next event of the same command; what a dispute that was
 * won had taken comes back in the same way.
 */

export function takeRefund(books: AccountBooks, refunded: RefundedData, event: StoredEvent): void {
  const { paymentId, refundId, amount } = refunded;
  const attempt = paidBy(books, paymentId, refundId);
  if (attempt === undefined) return;
  tellWithoutReason(books, attempt, refundId, refunded);
  if (books.returned.has(refundId)) tell(books, `${refundId}: refunded twice`);
  const before = refundedOf(books, attempt);
  const after = before + BigInt(amount);
  attempt.refunds.set(refundId, BigInt(amount));
  const most = (isByHand(attempt, refunded) ? attempt.price - inDispute(attempt) : attempt.price) - before;
  if (amount === '0' || BigInt(amount) > most)
    tell(books, `${refundId}: refunds of ${paymentId}`, amount, `at most ${most}`, 'micro-USD');
  const part = partOf(attempt, after) - partOf(attempt, before);
  expectRevoked(books, attempt, { paymentId, id: refundId, cause: 'refund', part, event });
}

export function takeDispute(books: AccountBooks, disputed: DisputedData, event: StoredEvent): void {
  const { paymentId, disputeId, amount } = disputed;
  const attempt = paidBy(books, paymentId, disputeId);
  if (attempt === undefined) return;
  tellWithoutReason(books, attempt, disputeId, disputed);
  if (books.returned.has(disputeId)) tell(books, `${disputeId}: disputed twice`);
  if (amount === '0') tell(books, `${disputeId}: a dispute about nothing`);
  const others = isByHand(attempt, disputed) ? refundedOf(books, attempt) + inDispute(attempt) : 0n;
  const most = attempt.price - others;
  if (BigInt(amount) > most)
    tell(books, `${disputeId}: the dispute of ${paymentId}`, amount, `at most ${most}`, 'micro-USD');
  const part = partOf(attempt, BigInt(amount));
  attempt.disputed.set(disputeId, BigInt(amount));
  expectRevoked(books, attempt, { paymentId, id: disputeId, cause: 'dispute', part, event });
}

export function takeDisputeClosed(books: AccountBooks, closed: DisputeClosedData, { metadata }: StoredEvent): void {
  const { paymentId, disputeId, outcome } = closed;
  const attempt = paidBy(books, paymentId, disputeId);
  const before = attempt?.returned.get(disputeId);
  if (before === undefined) tell(books, `${disputeId}: closed, and was never opened`);
  else if (before !== 'open') tell(books, `${disputeId}: ${outcome}, and was ${before} before`);
  attempt?.returned.set(disputeId, outcome);
  if (attempt === undefined) return;
  tellWithoutReason(books, attempt, disputeId, closed);
  if (outcome === 'lost') return;
  attempt.disputed.delete(disputeId);
  const others = [...attempt.returned].flatMap(([id, ended]) => (ended === 'won' && id !== disputeId ? [id] : []));
  let most = (books.revoked.get(attempt.grantId) ?? 0n) - gone(books, attempt);
  const what = {
    type: 'GrantRestored',
    name: disputeId,
    told: 'won, and not restored',
    commandId: metadata?.commandId,
  };
  const all: OwnFollowing[] = [];
  for (const revocationId of [disputeId, ...others]) {
    const left = leftOf(books, revocationId, attempt);
    const amount = left < most ? left : most;
    if (amount <= 0n) continue;
    most -= amount;
    const restorationId = all.length === 0 ? `${disputeId}_won` : `${disputeId}_won_${all.length + 1}`;
    all.push({ ...what, fields: { restorationId, revocationId, amount: String(amount) } });
  }
  books.following = all.reduceRight<OwnFollowing | null>((then, one) => ({ ...one, then }), null);
}

/** What a provider tells of may be a refund and a dispute of the same money; by hand, with a reason, it is written down once, whoever was paid. */
const isByHand = ({ provider }: OwnAttempt, { reason = null }: Pick<RefundedData, 'reason'>): boolean =>
  provider === BY_HAND || reason !== null;

/** Who takes what is paid by hand. Of before then nobody was asked why. */
const BY_HAND = 'manual';

/** Whoever writes it down by hand says why; those of before were not asked. */
function tellWithoutReason(
  books: AccountBooks,
  { provider }: OwnAttempt,
  id: string,
  { reason }: Pick<RefundedData, 'reason'>,
): void {
  if (provider === BY_HAND && reason !== undefined) tellUnreasoned(books, id, { reason: reason ?? '' });
}

/** In money: what disputes have that were not won. */
const inDispute = ({ disputed }: OwnAttempt): bigint =>
  [...disputed.values()].reduce((all, amount) => all + amount, 0n);

/** What a dispute took of its payment's credits, and has not come back. */
function leftOf(books: AccountBooks, id: string, { grantId }: OwnAttempt): bigint {
  const revocation = books.revocations.get(id);
  const isOfDispute = revocation?.grantId === grantId && revocation.cause === 'dispute';
  return isOfDispute ? revocation.uncovered + revocation.taken : 0n;
}

/** What a grant was bought with; none where it was made by hand, also where it is named as if it had been bought. */
export const boughtBy = ({ paid }: AccountBooks, grantId: string): OwnAttempt | undefined =>
  ['payment_', 'payment_~']
    .map((start) => (grantId.startsWith(start) ? paid.get(grantId.slice(start.length)) : undefined))
    .find((attempt) => attempt?.grantId === grantId);

/** The credits for which no money is left: of refunds, and of disputes that were not won. */
export function gone(books: AccountBooks, attempt: OwnAttempt): bigint {
  const ofRefunds = partOf(attempt, refundedOf(books, attempt));
  return [...attempt.disputed.values()].reduce((all, amount) => all + partOf(attempt, amount), ofRefunds);
}

/** In money: less what came back of refunds whose credits were restored. */
function refundedOf(books: AccountBooks, { refunds }: OwnAttempt): bigint {
  let all = 0n;
  for (const [id, amount] of refunds) {
    const revocation = books.revocations.get(id);
    all += amount;
    if (revocation?.cause !== 'refund' || revocation.amount === 0n) continue;
    const back = revocation.amount - revocation.uncovered - revocation.taken;
    all -= (amount * back) / revocation.amount;
  }
  return all;
}

interface Returned {
  readonly paymentId: string;
  readonly id: string;
  readonly cause: string;
  /** In credits. */
  readonly part: bigint;
  readonly event: StoredEvent;
}

/** What others have revoked of the grant is not there to be revoked. */
function expectRevoked(
  books: AccountBooks,
  attempt: OwnAttempt,
  { paymentId, id, cause, part, event }: Returned,
): void {
  attempt.returned.set(id, 'open');
  books.returned.add(id);
  const { grantId } = attempt;
  const left = attempt.credits - (books.revoked.get(grantId) ?? 0n);
  const amount = part < left ? part : left;
  const commandId = event.metadata?.commandId;
  const then = pauseAfter(books, attempt, { id, cause, commandId });
  const fields = { revocationId: id, grantId, cause, paymentId, amount: String(amount) };
  const what = { name: id, told: 'paid back, and nothing revoked' };
  books.following = amount > 0n ? { type: 'GrantRevoked', fields, commandId, ...what, then } : then;
}

/** What was bought by itself and went back is not bought by itself again. */
function pauseAfter(
  { reload }: AccountBooks,
  { kind }: OwnAttempt,
  { id, cause, commandId }: { readonly id: string; readonly cause: string; readonly commandId: string | undefined },
): OwnFollowing | null {
  if (kind !== 'reload' || reload === null || reload.consentedAt === null || reload.isPaused) return null;
  const fields = { reason: cause === 'refund' ? 'refunded' : 'disputed' };
  return { type: 'AutoReloadPaused', fields, commandId, name: id, told: 'paid back, and auto-reload is not paused' };
}

const partOf = ({ credits, price }: OwnAttempt, amount: bigint): bigint => (credits * amount) / price;

function paidBy(books: AccountBooks, paymentId: string, id: string): OwnAttempt | undefined {
  const attempt = books.paid.get(paymentId);
  if (attempt === undefined) tell(books, `${id}: of ${paymentId}, which was never paid`);
  return attempt;
}
