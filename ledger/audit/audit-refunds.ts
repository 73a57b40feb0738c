import { isDeepStrictEqual } from 'node:util';
import { tellUnreasoned } from './audit-coming-back.ts';
import {
  type AccountBooks,
  compareAmount,
  type OwnAttempt,
  type OwnFollowing,
  type OwnRevocation,
  tell,
} from './own-account.ts';
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
  if (!isByHand(attempt, refunded)) tellToldAgain(books, attempt, refundId, attempt.refunds);
  const before = refundedOf(books, attempt);
  const after = before + BigInt(amount);
  attempt.refunds.set(refundId, BigInt(amount));
  const most = (isByHand(attempt, refunded) ? attempt.price - inDispute(attempt) : attempt.price) - before;
  if (amount === '0' || BigInt(amount) > most)
    tell(books, `${refundId}: refunds of ${paymentId}`, amount, `at most ${most}`, 'micro-USD');
  const part = partOf(attempt, after) - partOf(attempt, before);
  noteReturned(books, attempt, refundId);
  expectRevoked(books, attempt, { paymentId, id: refundId, cause: 'refund', part, event });
}

export function takeDispute(books: AccountBooks, disputed: DisputedData, event: StoredEvent): void {
  const { paymentId, disputeId, amount } = disputed;
  const attempt = paidBy(books, paymentId, disputeId);
  if (attempt === undefined) return;
  tellWithoutReason(books, attempt, disputeId, disputed);
  if (books.returned.has(disputeId)) tell(books, `${disputeId}: disputed twice`);
  if (!isByHand(attempt, disputed)) tellToldAgain(books, attempt, disputeId, attempt.disputed);
  if (amount === '0') tell(books, `${disputeId}: a dispute about nothing`);
  const others = isByHand(attempt, disputed) ? refundedOf(books, attempt) + inDispute(attempt) : 0n;
  const most = attempt.price - others;
  if (BigInt(amount) > most)
    tell(books, `${disputeId}: the dispute of ${paymentId}`, amount, `at most ${most}`, 'micro-USD');
  const part = partOf(attempt, BigInt(amount));
  attempt.disputed.set(disputeId, BigInt(amount));
  noteReturned(books, attempt, disputeId);
  expectRevoked(books, attempt, { paymentId, id: disputeId, cause: 'dispute', part, event });
}

/** All of it, which did not go back; its credits come back by the next events of the same command. */
export function takeWithdrawn(books: AccountBooks, withdrawn: RefundedData, event: StoredEvent): void {
  const { paymentId, refundId, amount, reason } = withdrawn;
  const attempt = paidBy(books, paymentId, refundId);
  if (attempt === undefined) return;
  tellUnreasoned(books, refundId, { reason: reason ?? '' });
  const before = attempt.refunds.get(refundId);
  if (before === undefined) return void tell(books, `${refundId}: withdrawn, and was never refunded`);
  if (before === 0n) tell(books, `${refundId}: withdrawn twice`);
  else compareAmount(books, `${refundId}: what of it is withdrawn`, amount, before);
  attempt.refunds.set(refundId, 0n);
  attempt.returned.set(refundId, 'withdrawn');
  expectRestored(books, attempt, { id: refundId, cause: 'refund', word: 'withdrawn', event });
}

export function takeDisputeClosed(books: AccountBooks, closed: DisputeClosedData, event: StoredEvent): void {
  const { paymentId, disputeId, outcome, replaces = null } = closed;
  const attempt = paidBy(books, paymentId, disputeId);
  const before = attempt?.returned.get(disputeId);
  if (before === undefined) tell(books, `${disputeId}: closed, and was never opened`);
  else if (before !== (replaces ?? 'open') || before === outcome)
    tell(books, `${disputeId}: ${outcome}, and was ${before} before`);
  if (attempt === undefined) return;
  tellWithoutReason(books, attempt, disputeId, closed);
  const amount = attempt.disputed.get(disputeId) ?? 0n;
  const room = attempt.price - refundedOf(books, attempt) - inDispute(attempt);
  attempt.returned.set(disputeId, outcome);
  if (outcome === 'won') expectRestored(books, attempt, { id: disputeId, cause: 'dispute', word: 'won', event });
  if (outcome === 'won' || replaces !== 'won') return;
  if (isByHand(attempt, closed) && amount > room)
    tell(books, `${disputeId}: lost after all, of ${paymentId}`, amount, `at most ${room}`, 'micro-USD');
  const id = free(`${disputeId}_lost`, (one) => books.revocations.has(one) || books.returned.has(one));
  expectRevoked(books, attempt, { paymentId, id, cause: 'dispute', part: partOf(attempt, amount), event });
}

interface Here {
  readonly id: string;
  readonly cause: string;
  /** How it ended. */
  readonly word: string;
  readonly event: StoredEvent;
}

/**
 * What it had taken, and what is kept of others that money is here of again, as far as there is money for it: each by an event of its
 * own. What operators have revoked is not there for money that went back; and a dispute that is lost after all may have taken anew what
 * had been kept of it.
 */
function expectRestored(books: AccountBooks, attempt: OwnAttempt, { id, cause, word, event }: Here): void {
  const all = [...attempt.returned].map(([other, ended]) => ({
    source: other,
    of: attempt.disputed.has(other) ? 'dispute' : 'refund',
    ended,
  }));
  const ofReturn = ({ source, of }: { readonly source: string; readonly of: string }): [string, OwnRevocation][] =>
    [...books.revocations].filter(
      ([revocationId, revocation]) =>
        revocation.grantId === attempt.grantId &&
        revocation.cause === of &&
        (revocationId === source || isOfLostAgain(books, revocationId, source)),
    );
  const taken = all.flatMap(ofReturn).reduce((sum, [, one]) => sum + one.uncovered + one.taken, 0n);
  const others = all.filter(({ source }) => source !== id);
  const here = [
    { source: id, of: cause },
    ...others.filter(({ ended }) => ended === 'won'),
    ...others.filter(({ ended }) => ended === 'withdrawn'),
  ];
  const standing = others.filter(({ of, ended }) => of === 'dispute' && ended !== 'won');
  const goneBy = gone(books, attempt);
  const made = { id, word, commandId: event.metadata?.commandId };
  const today = restoring(books, [...here, ...standing].flatMap(ofReturn), { ...made, most: taken - goneBy });
  // Programs of before counted what operators had revoked as taken, and what they had given back of disputes as gone, and gave nothing back of what stands.
  const revoked = books.revoked.get(attempt.grantId) ?? 0n;
  const goneBefore = goneWith(attempt, refundedOf(books, attempt));
  const before = restoring(books, here.flatMap(ofReturn), { ...made, most: revoked - goneBefore });
  const isByOperators = [...books.revocations.values()].some(
    (one) => one.grantId === attempt.grantId && (one.given > 0n || (one.cause !== 'refund' && one.cause !== 'dispute')),
  );
  books.following = isByOperators ? orBefore(today, before) : today;
}

interface Restoring {
  readonly id: string;
  readonly word: string;
  readonly commandId: string | undefined;
  /** In credits. */
  readonly most: bigint;
}

/** Of each as far as there is any of it, one behind the other. */
function restoring(
  books: AccountBooks,
  revocations: readonly [string, OwnRevocation][],
  { id, word, commandId, most }: Restoring,
): OwnFollowing | null {
  const what = { type: 'GrantRestored', name: id, told: `${word}, and not restored`, commandId };
  const made = new Set(books.restorations);
  const following: OwnFollowing[] = [];
  let room = most;
  for (const [revocationId, revocation] of revocations) {
    const left = revocation.uncovered + revocation.taken;
    const amount = left < room ? left : room;
    if (amount <= 0n) continue;
    room -= amount;
    const restorationId = free(`${id}_${word}`, (one) => made.has(one));
    made.add(restorationId);
    following.push({ ...what, fields: { restorationId, revocationId, amount: String(amount) } });
  }
  return following.reduceRight<OwnFollowing | null>((then, one) => ({ ...one, then }), null);
}

/** Both as far as they are the same; from there on it may be either. What was written of before where nothing is today stands by itself. */
function orBefore(today: OwnFollowing | null, before: OwnFollowing | null): OwnFollowing | null {
  if (today === null) return null;
  if (before === null || !isDeepStrictEqual(before.fields, today.fields)) return { ...today, before };
  const then = orBefore(today.then ?? null, before.then ?? null);
  return { ...today, then };
}

/** What is lost after it was won takes under the dispute's id with a word behind it, and a number from the second time on. */
function isOfLostAgain({ returned }: AccountBooks, revocationId: string, disputeId: string): boolean {
  const first = `${disputeId}_lost`;
  const isNamed = revocationId.startsWith(first) && /^(_\d+)?$/.test(revocationId.slice(first.length));
  return isNamed && !returned.has(revocationId);
}

function free(name: string, isTaken: (id: string) => boolean): string {
  if (!isTaken(name)) return name;
  let nth = 2;
  while (isTaken(`${name}_${nth}`)) nth += 1;
  return `${name}_${nth}`;
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

/** Under another id than its provider's is told what has that no more, or never had it: not what stands, and would take its credits twice. */
function tellToldAgain(
  books: AccountBooks,
  { returned }: OwnAttempt,
  id: string,
  before: ReadonlyMap<string, bigint>,
): void {
  const [, name] = TOLD_AGAIN.exec(id) ?? [];
  if (name === undefined) return;
  const last = [...before.keys()].findLast((one) => one === name || TOLD_AGAIN.exec(one)?.[1] === name);
  if (last !== undefined && returned.get(last) !== 'withdrawn' && returned.get(last) !== 'won')
    tell(books, `${id}: told again, and ${last} stands`);
}

const TOLD_AGAIN = /^(.+)_again(?:_\d+)?$/su;

/** In money: what disputes have that were not won. */
const inDispute = (attempt: OwnAttempt): bigint => notWon(attempt).reduce((all, amount) => all + amount, 0n);

/** In money: refunds that stand, and what disputes have. */
export const isWhollyBack = (attempt: OwnAttempt): boolean =>
  [...attempt.refunds.values()].reduce((all, amount) => all + amount, inDispute(attempt)) >= attempt.price;

const notWon = ({ disputed, returned }: OwnAttempt): bigint[] =>
  [...disputed].flatMap(([id, amount]) => (returned.get(id) === 'won' ? [] : [amount]));

/** What a grant was bought with; none where it was made by hand, also where it is named as if it had been bought. */
export const attemptOfGrant = ({ paid }: AccountBooks, grantId: string): OwnAttempt | undefined =>
  ['payment_', 'payment_~']
    .map((start) => (grantId.startsWith(start) ? paid.get(grantId.slice(start.length)) : undefined))
    .find((attempt) => attempt?.grantId === grantId);

/** The credits for which no money is left: of refunds, and of disputes that were not won; less what operators have given back of what those took last. */
export function gone(books: AccountBooks, attempt: OwnAttempt): bigint {
  const all = goneWith(
    attempt,
    [...attempt.refunds.values()].reduce((sum, amount) => sum + amount, 0n),
  );
  const stand = [...attempt.returned].filter(([, ended]) => ended !== 'withdrawn' && ended !== 'won');
  return stand.reduce((left, [id]) => left - (lastOf(books, attempt, id)?.given ?? 0n), all);
}

const goneWith = (attempt: OwnAttempt, refunded: bigint): bigint =>
  notWon(attempt).reduce((all, amount) => all + partOf(attempt, amount), partOf(attempt, refunded));

/** What a refund or a dispute of the payment has taken; of several the last. */
function lastOf(books: AccountBooks, attempt: OwnAttempt, id: string): OwnRevocation | undefined {
  const cause = attempt.disputed.has(id) ? 'dispute' : 'refund';
  return [...books.revocations].findLast(
    ([name, one]) =>
      one.grantId === attempt.grantId && one.cause === cause && (name === id || isOfLostAgain(books, name, id)),
  )?.[1];
}

/** Whether what came back under that id came with the money of a refund or a dispute, and not by an operator. */
export function isWithMoney({ refunds, disputed }: OwnAttempt, restorationId: string): boolean {
  const [, id = '', word] = /^(.+)_(won|withdrawn)(?:_\d+)?$/su.exec(restorationId) ?? [];
  return (word === 'won' ? disputed : refunds).has(id);
}

/** In money: less what came back of refunds whose credits were restored, as operators of before wrote down that one had failed, and refunded anew. */
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

function noteReturned(books: AccountBooks, attempt: OwnAttempt, id: string): void {
  attempt.returned.set(id, 'open');
  books.returned.add(id);
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
