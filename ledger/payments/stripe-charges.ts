import { paysTheSame } from '../account/plans.ts';
import type { AskedPayment } from './payment-provider.ts';
import type { NamedAnswer } from './stripe-answers.ts';
import type { ListedIntent, StripeApi } from './stripe-api.ts';
import { isGone } from './stripe-client.ts';
import { findMade, findMadeBetween, isOf, KEY_KNOWN_MS, type Names } from './stripe-search.ts';

/** In these it was charged, or may be yet with nobody doing anything. */
const CHARGED: ReadonlySet<string> = new Set(['succeeded', 'processing', 'requires_capture']);

interface Look {
  readonly names: Names;
  readonly api: Pick<StripeApi, 'intents'>;
  readonly nowMs: number;
}

/** What there is of an attempt to charge somebody who is not there, without its key. @throws Error where it is not known */
export async function findCharge(one: AskedPayment, { names, api, nowMs }: Look): Promise<NamedAnswer | null> {
  const before = await ofItsPeriod(one, { names, api, nowMs });
  if (before !== null) return before;
  const isIt = (listed: ListedIntent): boolean => isMadeFor(listed, one, names);
  return findMade(one.attempt, names, (created) => api.intents(created), isIt);
}

/**
 * A renewal's id is its period's: a ledger that was put back begins under it once more what it does not know to be charged, and
 * Stripe may have forgotten the key by then; or the next one's, which has paid the period. @throws Error where it is not known
 */
export const chargedBefore = async (one: AskedPayment, look: Look): Promise<NamedAnswer | null> =>
  look.nowMs - (one.attempt.period?.startMs ?? look.nowMs) < KEY_KNOWN_MS ? null : ofItsPeriod(one, look);

/** Of a renewal: looked for among what the customer was charged since its period began, whether or not they may be charged any more. */
async function ofItsPeriod(one: AskedPayment, { names, api, nowMs: toMs }: Look): Promise<NamedAnswer | null> {
  const { kind, period, provider } = one.attempt;
  const saved = one.saved();
  if (kind !== 'renewal' || period === null || saved?.provider !== provider) return null;
  const list = (created: { gte: number; lte: number }) => api.intents(created, { customer: saved.customerId });
  const look = (is: typeof isMadeFor): Promise<ListedIntent | null> =>
    findMadeBetween(
      { fromMs: period.startMs, toMs },
      { names, list, isIt: (listed: ListedIntent) => is(listed, one, names) },
    );
  return look(chargesPeriod)
    .then((charged) => charged ?? look(isMadeFor))
    .catch(nothingOfUnknown);
}

/** Whom Stripe does not know has paid nothing, and is charged nothing. */
function nothingOfUnknown(error: unknown): null {
  if (isGone(error)) return null;
  throw error;
}

/** Whether what is listed was made for this attempt. */
const isMadeFor = (listed: ListedIntent, one: AskedPayment, names: Names): boolean =>
  isOf(listed.metadata, names) && isFit(listed, one);

/** Whether it charges the period that this attempt is to pay, under whichever of its ids. */
const chargesPeriod = (listed: ListedIntent, one: AskedPayment, names: Names): boolean => {
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
