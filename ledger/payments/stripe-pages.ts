import type { MicroUsd } from '../../contracts/money.ts';
import type { PaymentAttempt } from '../account/payments-state.ts';
import type { NamedAnswer } from './stripe-answers.ts';
import type { ListedIntent, ListedPage, StripeApi } from './stripe-api.ts';
import { whyRefused } from './stripe-client.ts';
import { findMade, findMadeBetween, isOf, KEY_KNOWN_MS, KEY_TAKEN_MS, type Names, type Span } from './stripe-search.ts';

interface Look {
  readonly names: Names;
  readonly api: Pick<StripeApi, 'pages'>;
}

/** Remembered as unpaid; beyond that all are asked of once more. */
const UNPAID_MAX = 10_000;

interface PaidLook {
  readonly names: Names;
  readonly api: Pick<StripeApi, 'paidOf'>;
}

/**
 * What was paid on a page that Stripe may have forgotten the key of: the id of a purchase was begun in a lost part of the ledger, however
 * long ago. What was not paid before its first look has a page of its own by then: each process asks of it once, since Stripe bounds
 * its search more narrowly than all else.
 */
export class PaidPurchases {
  readonly #unpaid = new Set<string>();

  /** Null also where Stripe refuses to search, as it does in some countries. @throws Error where it is not known */
  async find(attempt: PaymentAttempt, { names, api }: PaidLook): Promise<NamedAnswer | null> {
    const { ledger, account, attempt: id } = names;
    const key = [ledger, account, id, attempt.startedAtMs].join('/');
    if (this.#unpaid.has(key)) return null;
    const isIt = (one: ListedIntent): boolean => isOf(one.metadata, names) && isPriced(one.terms(), attempt);
    const paid = (await api.paidOf({ ledger, account, attempt: id }).catch(noneWhereRefused)).find(isIt);
    if (paid !== undefined) return paid;
    if (this.#unpaid.size >= UNPAID_MAX) this.#unpaid.clear();
    this.#unpaid.add(key);
    return null;
  }
}

function noneWhereRefused(error: unknown): readonly never[] {
  if (whyRefused(error) === null) throw error;
  return [];
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
 * whose payment is none of this one's. It may be the later one, where another backup was put back since: the key is that one's, too, while
 * this one may be asked of under it. @throws Error where it is not known
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

function isFit({ total }: ListedPage, attempt: PaymentAttempt): boolean {
  const { amount_total: amount, currency } = total();
  return isPriced({ amount, currency }, attempt);
}

const isPriced = ({ amount, currency }: Priced, { price }: PaymentAttempt): boolean =>
  amount === price && currency === 'usd';

interface Priced {
  readonly amount: MicroUsd | null | undefined;
  readonly currency: string | null | undefined;
}
