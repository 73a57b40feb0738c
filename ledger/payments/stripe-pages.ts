import type { PaymentAttempt } from '../account/payments-state.ts';
import type { NamedAnswer } from './stripe-answers.ts';
import type { ListedPage, StripeApi } from './stripe-api.ts';
import { findMade, findMadeBetween, isOf, KEY_KNOWN_MS, KEY_TAKEN_MS, type Names, type Span } from './stripe-search.ts';

interface Look {
  readonly names: Names;
  readonly api: Pick<StripeApi, 'pages'>;
}

/** The page of an attempt, without its key, to which that of a lost part may have been answered. @throws Error where it is not known */
export async function findPage(attempt: PaymentAttempt, { names, api }: Look): Promise<NamedAnswer | null> {
  const list: StripeApi['pages'] = (created) => api.pages(created);
  const isIt = (page: ListedPage): boolean => isOf(page.metadata, names) && isFit(page, attempt);
  const span = { fromMs: attempt.startedAtMs - KEY_KNOWN_MS, toMs: attempt.startedAtMs };
  return (await findMade(attempt, names, list, isIt)) ?? findMadeBetween(span, { names, list, isIt });
}

/**
 * A page of the attempt's names that is of another amount: the lost part of a ledger that was put back had another purchase of that id,
 * whose payment is none of this one's. @throws Error where it is not known
 */
export const findOthersPage = (attempt: PaymentAttempt, look: Look): Promise<NamedAnswer | null> =>
  othersBetween(
    { fromMs: attempt.startedAtMs - KEY_KNOWN_MS, toMs: attempt.startedAtMs + KEY_KNOWN_MS },
    attempt,
    look,
  );

/** The same where it was made so lately that under the key, which is its, nothing is made for this attempt. @throws Error where it is not known */
export const findPageWithKey = (
  attempt: PaymentAttempt,
  { nowMs: toMs, ...look }: Look & { readonly nowMs: number },
): Promise<NamedAnswer | null> => othersBetween({ fromMs: toMs - KEY_TAKEN_MS, toMs }, attempt, look);

const othersBetween = (span: Span, attempt: PaymentAttempt, { names, api }: Look): Promise<NamedAnswer | null> =>
  findMadeBetween(span, {
    names,
    list: (created) => api.pages(created),
    isIt: (page: ListedPage) => isOf(page.metadata, names) && !isFit(page, attempt),
  });

function isFit({ total }: ListedPage, { price }: PaymentAttempt): boolean {
  const { amount_total: amount, currency } = total();
  return amount === price && currency === 'usd';
}
