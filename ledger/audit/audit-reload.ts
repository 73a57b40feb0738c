import { takeAttempt } from './audit-payments.ts';
import { type AccountBooks, compareAmount, tell } from './own-account.ts';
import type { ReloadSetData, ReloadStartedData, SkippedData } from './stored-event.ts';

/*
 * An auto-reload has consent, is not paused, costs what it gives, and is no more than a month may have, by the months of the
 * claims. A reason for none is told where it is new.
 */

export function takeReloadSet(
  books: AccountBooks,
  { consentedAt, monthlyCap, threshold, target }: ReloadSetData,
): void {
  if (BigInt(target) <= BigInt(threshold)) tell(books, 'auto-reload: its target is not above its threshold');
  if (BigInt(monthlyCap) < BigInt(target) - BigInt(threshold))
    tell(books, 'auto-reload: its cap is less than a single reload');
  const isOn = consentedAt !== null;
  books.reload = { isOn, cap: BigInt(monthlyCap), isPaused: false, retryAt: '', skipped: null };
}

export function takeReload(books: AccountBooks, started: ReloadStartedData): void {
  const { attemptId, provider, amount, price, startedAt, monthTotal } = started;
  const { reload } = books;
  if (reload === null || !reload.isOn) tell(books, `${attemptId}: begun without consent`);
  if (reload?.isPaused) tell(books, `${attemptId}: begun while auto-reload is paused`);
  if (reload !== null && startedAt < reload.retryAt)
    tell(books, `${attemptId}: begun too soon after a failure`, startedAt, `${reload.retryAt} or later`);
  compareAmount(books, `${attemptId}: its price`, price, BigInt(amount));
  const month = startedAt.slice(0, 7);
  let sum = 0n;
  for (const one of books.attempts.values())
    if (one.month === month && (one.isOpen || one.paidBy !== null)) sum += one.price;
  compareAmount(books, `${attemptId}: what the month had before it`, monthTotal, sum);
  if (reload !== null && sum + BigInt(price) > reload.cap)
    tell(books, `${attemptId}: with it the month has`, sum + BigInt(price), `at most ${reload.cap}`, 'micro-USD');
  if (reload !== null) reload.skipped = null;
  takeAttempt(books, attemptId, { kind: 'reload', provider, credits: BigInt(amount), price: BigInt(price), month });
}

export function takeSkipped(books: AccountBooks, { reason }: SkippedData): void {
  const { reload } = books;
  if (reload === null) return void tell(books, 'auto-reload: skipped, and was never configured');
  if (reload.skipped === reason) tell(books, `auto-reload: skipped again, as before: ${reason}`);
  reload.skipped = reason;
}

export function takePaused(books: AccountBooks): void {
  const { reload } = books;
  if (reload === null) return void tell(books, 'auto-reload: paused, and was never configured');
  if (reload.isPaused) tell(books, 'auto-reload: paused, and is paused already');
  reload.isPaused = true;
}
