import { type AccountBooks, compare, compareAmount, type OwnAttempt, tell } from './own-account.ts';
import type { GrantData, PaidData, PurchaseData, StoredEvent, UnpaidData } from './stored-event.ts';

/*
 * One attempt of a kind is open at a time, each is paid once and for its price, and what is paid is granted by the next event of
 * the same command: no payment without its credits, no payment twice.
 */

export function takePurchase(books: AccountBooks, { attemptId, provider, amount, price }: PurchaseData): void {
  takeAttempt(books, attemptId, { kind: 'purchase', provider, credits: BigInt(amount), price: BigInt(price) });
}

function takeAttempt(books: AccountBooks, attemptId: string, begun: Omit<OwnAttempt, 'isOpen' | 'paidBy'>): void {
  const { attempts } = books;
  if (begun.credits === 0n || begun.price === 0n) tell(books, `${attemptId}: a payment of nothing, or for nothing`);
  if (attempts.has(attemptId)) tell(books, `${attemptId}: begun twice`);
  for (const [openId, { isOpen, kind }] of attempts)
    if (isOpen && kind === begun.kind && openId !== attemptId)
      tell(books, `${attemptId}: begun while ${openId} is open`);
  attempts.set(attemptId, { ...begun, isOpen: true, paidBy: null });
}

/** Also of an attempt that was given up. */
export function takePaid(books: AccountBooks, paid: PaidData, { metadata }: StoredEvent): void {
  const { attemptId, provider, paymentId, amount } = paid;
  const attempt = books.attempts.get(attemptId);
  if (attempt === undefined) tell(books, `${attemptId}: paid, and was never begun`);
  else {
    if (attempt.paidBy !== null) tell(books, `${attemptId}: paid by ${paymentId}, and was paid by ${attempt.paidBy}`);
    compareAmount(books, `${attemptId}: what was paid`, amount, attempt.price);
    compare(books, `${attemptId}: where it was paid`, provider, attempt.provider);
    attempt.isOpen = false;
    attempt.paidBy = paymentId;
  }
  const grant = {
    grantId: `payment_${paymentId}`,
    source: 'purchase',
    amount: String(attempt?.credits ?? amount),
    costBasis: amount,
  };
  books.paid = { grant, commandId: metadata?.commandId };
}

/** How else one ends, or that it waits for whoever pays. */
export function takeOutcome(
  books: AccountBooks,
  { attemptId }: UnpaidData,
  { isOver }: { readonly isOver: boolean },
): void {
  const attempt = books.attempts.get(attemptId);
  if (attempt === undefined) return void tell(books, `${attemptId}: has an outcome, and was never begun`);
  if (!attempt.isOpen) tell(books, `${attemptId}: has an outcome, and is not open`);
  if (isOver) attempt.isOpen = false;
}

/** What follows a payment is its grant. @param event null at the end of the stream */
export function auditPaid(books: AccountBooks, event: StoredEvent | null): void {
  const { paid } = books;
  if (paid === null) return;
  if (event?.type !== 'CreditsGranted') {
    books.paid = null;
    tell(books, `${paid.grant.grantId}: paid, and not granted`);
    return;
  }
  const granted = event.data as GrantData;
  for (const [field, expected] of Object.entries(paid.grant))
    compare(books, `${paid.grant.grantId}: ${field} of its grant`, granted[field as keyof GrantData], expected);
  compare(books, `${paid.grant.grantId}: the command of its grant`, event.metadata?.commandId, paid.commandId);
}
