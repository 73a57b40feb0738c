import Stripe from 'stripe';
import { z } from 'zod';
import { ATTEMPT_ID_PATTERN } from '../../contracts/event-fields.ts';
import {
  ACCOUNT_ID_PATTERN,
  type AccountId,
  type AttemptId,
  accountId,
  attemptId,
  type LedgerId,
} from '../../contracts/ids.ts';
import {
  type AccountFacts,
  type Notice,
  type PaymentFact,
  UnfitAnswerError,
  UnreadableMessageError,
} from './payment-provider.ts';
import type { CarriedNames, Dispute, Intent, Refund, Setup } from './stripe-answers.ts';
import type { StripeApi } from './stripe-api.ts';
import { wordOf } from './stripe-client.ts';
import { outcomeOfIntent, outcomeOfSession } from './stripe-outcomes.ts';

/** What a message tells of that can concern an account here. */
const HEARD: ReadonlySet<string> = new Set([
  ...['succeeded', 'requires_action', 'canceled'].map((word) => `payment_intent.${word}`),
  ...['completed', 'expired', 'async_payment_succeeded', 'async_payment_failed'].map(
    (word) => `checkout.session.${word}`,
  ),
  ...['charge.refunded', 'charge.refund.updated', 'refund.created', 'refund.updated', 'refund.failed'],
  ...['created', 'updated', 'closed', 'funds_withdrawn', 'funds_reinstated'].map((word) => `charge.dispute.${word}`),
  'setup_intent.succeeded',
]);

const named = z.string().refine((id) => wordOf(id) !== null);
const messageSchema = z.object({
  type: z.string(),
  /** Of the message itself; only told to operators. */
  id: named.optional().catch(undefined),
  /** There where it is of an account that is connected to ours. */
  account: z.string().nullish(),
});
/** Of what is heard: others are about something without an id, such as a balance. */
const heardSchema = z.object({ data: z.object({ object: z.object({ id: named, object: named }) }) });

/** @returns null for what is about nothing here @throws UnreadableMessageError */
export function noticeOf(body: Buffer): Notice | null {
  const message = jsonOf(body);
  const { type, account, id: messageId } = formOf(messageSchema, message);
  if (!HEARD.has(type) || (account ?? null) !== null) return null;
  const { data } = formOf(heardSchema, message, type);
  return { kind: data.object.object, id: data.object.id, ...(messageId === undefined ? {} : { messageId }) };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new UnreadableMessageError('it is not JSON', { cause: error });
  }
}

/** Names alone, for whoever is told: what is in a message is somebody's. */
function formOf<T>(schema: z.ZodType<T>, message: unknown, type = 'a message'): T {
  const read = schema.safeParse(message);
  if (read.success) return read.data;
  const places = read.error.issues.map(({ path }) => path.join('.') || 'all of it');
  throw new UnreadableMessageError(`${type} is not of a form that is known: ${places.join(', ')}`, {
    cause: read.error,
  });
}

/** The one whose word counts, whatever its message has said. Null: of no account of this ledger. @throws UnfitAnswerError */
export async function factsOf({ kind, id }: Notice, ledger: LedgerId, api: StripeApi): Promise<AccountFacts | null> {
  try {
    switch (kind) {
      case 'payment_intent':
        return await factsOfPayment(id, ledger, api);
      case 'charge':
      case 'refund':
      case 'dispute': {
        // What went back of a payment, or is disputed: the payment is looked at whole.
        const payment = await api.paymentOf(`${kind}s`, id);
        return payment === null ? null : await factsOfPayment(payment, ledger, api);
      }
      case 'checkout.session':
        return await factsOfSession(id, ledger, api);
      case 'setup_intent': {
        const setup = await api.setup(id);
        const ours = namesOf(setup.metadata, ledger);
        return ours === null ? null : factsOfSetup(setup.whole(), ours);
      }
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    throw error;
  }
}

async function factsOfPayment(id: string, ledger: LedgerId, api: StripeApi): Promise<AccountFacts | null> {
  const fetched = await api.intent(id);
  const ours = namesOf(fetched.metadata, ledger);
  if (ours?.attemptId == null) return null;
  const { accountId, attemptId } = ours;
  const intent = fetched.whole();
  const outcome = outcomeOfIntent(intent);
  // On a page another card may follow; and whether the one that an attempt was begun with was declined, who asks of that finds out (outcomeOfCharge).
  const facts: PaymentFact[] = outcome.type === 'failed' ? [] : [{ type: 'attempt', attemptId, outcome }];
  if (outcome.type === 'paid') facts.push(...(await factsOfPaid(intent, api)));
  return { accountId, facts };
}

/** What became of the money of a payment. @throws UnfitAnswerError */
async function factsOfPaid(intent: Intent, api: StripeApi): Promise<readonly PaymentFact[]> {
  const refunds = await allOf(api.refunds(intent.id));
  const disputes = await allOf(api.disputes(intent.id));
  assertWithin(intent, refunds, disputes);
  const failed = refunds.filter(hasFailed).map(({ id: refundId, status }): PaymentFact => {
    const became = status === 'canceled' ? 'canceled' : 'failed';
    return { type: 'failed refund', paymentId: intent.id, refundId, became };
  });
  return [
    ...failed,
    ...refunds.flatMap((refund) => refundOf(intent, refund)),
    ...disputes.flatMap((dispute) => disputeOf(intent, dispute)),
  ];
}

/** Far more than one payment has; a list may say for ever that there is more. */
const OF_ONE_PAYMENT_MAX = 1_000;

/** @throws UnfitAnswerError where there are more than anybody has */
async function allOf<One>(listed: AsyncIterable<One>): Promise<One[]> {
  const all: One[] = [];
  for await (const one of listed) {
    if (all.length === OF_ONE_PAYMENT_MAX)
      throw new UnfitAnswerError(`Stripe lists more than ${OF_ONE_PAYMENT_MAX} of one payment`);
    all.push(one);
  }
  return all;
}

/**
 * What Stripe lists of a payment has to be of it, and what went back no more than was paid: another's would take credits that are paid for.
 * @throws UnfitAnswerError
 */
function assertWithin(intent: Intent, refunds: readonly Refund[], disputes: readonly Dispute[]): void {
  const { id, amount_received: paid, latest_charge: charge } = intent;
  for (const one of [...refunds, ...disputes]) {
    if (one.payment_intent !== id || (one.charge && charge && one.charge !== charge.id))
      throw new UnfitAnswerError(`Stripe lists with ${id} what went back, or is disputed, of another payment`);
    if (one.amount <= 0n) throw new UnfitAnswerError(`Stripe lists with ${id} that nothing went back, or is disputed`);
  }
  const back = refunds.filter((one) => !hasFailed(one)).reduce((sum, one) => sum + one.amount, 0n);
  if (back > paid || refunds.some((one) => one.amount > paid))
    throw new UnfitAnswerError(`Stripe lists with ${id} more that went back than was paid`);
}

const hasFailed = ({ status }: Refund): boolean => status === 'failed' || status === 'canceled';

async function factsOfSession(id: string, ledger: LedgerId, api: StripeApi): Promise<AccountFacts | null> {
  const fetched = await api.page(id);
  const ours = namesOf(fetched.metadata, ledger);
  if (ours === null) return null;
  const page = fetched.whole();
  const { payment_intent: intent, setup_intent: setup } = page;
  const within = intent ?? setup;
  const named = within ? namesOf(within.metadata, ledger) : ours;
  if (named?.accountId !== ours.accountId || named.attemptId !== ours.attemptId)
    throw new UnfitAnswerError(`Stripe answers with ${id} a payment, or a card, of something else`);
  if (page.mode === 'setup') return setup ? factsOfSetup(setup, ours) : null;
  const { accountId, attemptId } = ours;
  if (attemptId === null) return null;
  const outcome = outcomeOfSession(page);
  const became = outcome.type === 'paid' && intent ? await factsOfPaid(intent, api) : [];
  return { accountId, facts: [{ type: 'attempt', attemptId, outcome }, ...became] };
}

/** A card that is detached since may not be charged, whenever it is heard of. */
function factsOfSetup(
  { payment_method: method, latest_attempt: latest, metadata, status, created }: Setup,
  { accountId }: Ours,
): AccountFacts {
  if (status !== 'succeeded' || !method?.customer || !method.card) return { accountId, facts: [] };
  const { brand, last4 } = method.card;
  const said = { customerId: method.customer, paymentMethodId: method.id };
  const shown = { brand: brand ?? 'card', last4: /^\d{4}$/.test(last4) ? last4 : '????' };
  const consented = { consentedAtMs: latest?.created ?? created, by: byOf(metadata) };
  return { accountId, facts: [{ type: 'method', ...said, ...shown, ...consented }] };
}

/** Who has asked for it, as it was told to Stripe then. */
const byOf = ({ by = '' }: CarriedNames): string => (/^[^\p{C}\p{Zl}\p{Zp}]{1,500}$/u.test(by) ? by : 'system');

/** Money that is on its way back may not arrive. */
function refundOf(intent: Intent, { id: refundId, status, amount, created }: Refund): PaymentFact[] {
  if (status !== 'succeeded') return [];
  return [{ type: 'refund', paymentId: intent.id, refundId, amount, refundedAtMs: created }];
}

/** In the others, which ask and warn, no money has moved. */
const DISPUTED: Readonly<Record<string, 'won' | 'lost' | null>> = {
  needs_response: null,
  under_review: null,
  appeal_needs_response: null,
  appeal_under_review: null,
  won: 'won',
  lost: 'lost',
};

/**
 * Stripe counts a dispute in what the bank says, whose rate of exchange may be another than when it was paid: no more is disputed than
 * all that was paid, whose credits are taken.
 */
function disputeOf(
  { id, amount_received: paid }: Intent,
  { id: disputeId, status, amount: told, created }: Dispute,
): PaymentFact[] {
  const outcome = DISPUTED[status];
  if (outcome === undefined) return [];
  const amount = told < paid ? told : paid;
  return [{ type: 'dispute', paymentId: id, disputeId, amount, openedAtMs: created, outcome }];
}

interface Ours {
  readonly accountId: AccountId;
  /** Null where it names none. */
  readonly attemptId: AttemptId | null;
}

/** Null where it is not this ledger's, whose names it carries otherwise. */
function namesOf({ ledger: named, account = '', attempt = '' }: CarriedNames, ledger: LedgerId): Ours | null {
  if (named !== ledger || !ACCOUNT_ID_PATTERN.test(account)) return null;
  return { accountId: accountId(account), attemptId: ATTEMPT_ID_PATTERN.test(attempt) ? attemptId(attempt) : null };
}
