import { paysTheSame } from '../account/plans.ts';
import type { AskedPayment } from './payment-provider.ts';
import type { ListedIntent } from './stripe-api.ts';
import { isOf, type Names } from './stripe-search.ts';

/** In these it was charged, or may be yet with nobody doing anything. */
const CHARGED: ReadonlySet<string> = new Set(['succeeded', 'processing', 'requires_capture']);

/** Whether what is listed was made for this attempt. */
export const isMadeFor = (listed: ListedIntent, one: AskedPayment, names: Names): boolean =>
  isOf(listed.metadata, names) && isFit(listed, one);

/** Whether it charges the period that this attempt is to pay, under whichever of its ids. */
export const chargesPeriod = (listed: ListedIntent, one: AskedPayment, names: Names): boolean => {
  const { attempt = '' } = listed.metadata;
  const isOfPeriod = paysTheSame(attempt, one.attempt) && isOf(listed.metadata, { ...names, attempt });
  return isOfPeriod && isFit(listed, one) && CHARGED.has(listed.terms().status);
};

/** A renewal's id is its period's, also on other terms that a ledger that was put back does not know any more. */
function isFit({ id, metadata, terms }: ListedIntent, { attempt, isAnothers }: AskedPayment): boolean {
  if (isAnothers(metadata.attempt ?? '', id)) return false;
  if (attempt.kind !== 'renewal') return true;
  const { amount, currency } = terms();
  return amount === attempt.price && currency === 'usd';
}
