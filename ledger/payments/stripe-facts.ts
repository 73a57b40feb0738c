import Stripe from 'stripe';
import { z } from 'zod';
import { ACCOUNT_ID_PATTERN, type AccountId, accountId, attemptId, type LedgerId } from '../../contracts/ids.ts';
import type { AccountFacts, Notice, PaymentFact } from './payment-provider.ts';
import { wordOf } from './stripe-client.ts';
import { amountOf, idOf, msOf, outcomeOfIntent, outcomeOfSession } from './stripe-outcomes.ts';

/** What a message tells of that can concern an account here. */
const HEARD: ReadonlySet<string> = new Set([
  ...['succeeded', 'payment_failed', 'requires_action', 'canceled'].map((word) => `payment_intent.${word}`),
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
  /** There where it is of an account that is connected to ours. */
  account: z.string().nullish(),
});
/** Of what is heard: others are about something without an id, such as a balance. */
const heardSchema = z.object({ data: z.object({ object: z.object({ id: named, object: named }) }) });

/** @returns null for what is about nothing here @throws ZodError, SyntaxError */
export function noticeOf(body: Buffer): Notice | null {
  const message: unknown = JSON.parse(body.toString('utf8'));
  const { type, account } = messageSchema.parse(message);
  if (!HEARD.has(type) || (account ?? null) !== null) return null;
  const { data } = heardSchema.parse(message);
  return { kind: data.object.object, id: data.object.id };
}

/** The one whose word counts, whatever its message has said. Null: of no account of this ledger. */
export async function factsOf({ kind, id }: Notice, ledger: LedgerId, stripe: Stripe): Promise<AccountFacts | null> {
  try {
    switch (kind) {
      case 'payment_intent':
        return await factsOfPayment(id, ledger, stripe);
      case 'charge':
        return await factsOfPart(await stripe.charges.retrieve(id), ledger, stripe);
      case 'refund':
        return await factsOfPart(await stripe.refunds.retrieve(id), ledger, stripe);
      case 'dispute':
        return await factsOfPart(await stripe.disputes.retrieve(id), ledger, stripe);
      case 'checkout.session':
        return await factsOfSession(id, ledger, stripe);
      case 'setup_intent':
        return factsOfSetup(await stripe.setupIntents.retrieve(id, { expand: [...OF_SETUP] }), ledger);
      default:
        return null;
    }
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    throw error;
  }
}

const OF_SETUP = ['payment_method', 'latest_attempt'] as const;

/** What went back of a payment, or is disputed: the payment is looked at whole. */
async function factsOfPart(
  { payment_intent: payment }: { readonly payment_intent: string | Stripe.PaymentIntent | null },
  ledger: LedgerId,
  stripe: Stripe,
): Promise<AccountFacts | null> {
  if (payment === null) return null;
  return factsOfPayment(typeof payment === 'string' ? payment : payment.id, ledger, stripe);
}

async function factsOfPayment(id: string, ledger: LedgerId, stripe: Stripe): Promise<AccountFacts | null> {
  const intent = await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] });
  const ours = namesOf(intent.metadata, ledger);
  const attempt = intent.metadata.attempt ?? '';
  if (ours === null || attempt === '') return null;
  const outcome = outcomeOfIntent(intent);
  // On a page another card may follow one that was declined.
  const isTold = outcome.type !== 'failed' || intent.metadata.kind !== 'purchase';
  const facts: PaymentFact[] = isTold ? [{ type: 'attempt', attemptId: attemptId(attempt), outcome }] : [];
  const failedRefunds: string[] = [];
  if (outcome.type !== 'paid') return { ...ours, facts, failedRefunds };
  const listed = { payment_intent: id, limit: 100 };
  for await (const refund of bounded(stripe.refunds.list(listed)))
    if (refund.status === 'failed' || refund.status === 'canceled') failedRefunds.push(idOf(refund));
    else facts.push(...refundOf(intent, refund));
  for await (const dispute of bounded(stripe.disputes.list(listed))) facts.push(...disputeOf(intent, dispute));
  return { ...ours, facts, failedRefunds };
}

/** Far more than one payment has; a list may say for ever that there is more. */
const OF_ONE_PAYMENT_MAX = 1_000;

/** @throws Error where there are more than anybody has */
async function* bounded<One>(listed: AsyncIterable<One>): AsyncIterable<One> {
  let count = 0;
  for await (const one of listed) {
    if (++count > OF_ONE_PAYMENT_MAX) throw new Error(`Stripe lists more than ${OF_ONE_PAYMENT_MAX} of one payment`);
    yield one;
  }
}

async function factsOfSession(id: string, ledger: LedgerId, stripe: Stripe): Promise<AccountFacts | null> {
  const ofPayment = ['payment_intent', 'payment_intent.latest_charge'];
  const ofSetup = ['setup_intent', ...OF_SETUP.map((one) => `setup_intent.${one}`)];
  const session = await stripe.checkout.sessions.retrieve(id, { expand: [...ofPayment, ...ofSetup] });
  const { setup_intent: setup, metadata } = session;
  if (session.mode === 'setup') return setup === null || typeof setup === 'string' ? null : factsOfSetup(setup, ledger);
  const ours = namesOf(metadata, ledger);
  const attempt = metadata?.attempt ?? '';
  if (ours === null || attempt === '') return null;
  return {
    ...ours,
    facts: [{ type: 'attempt', attemptId: attemptId(attempt), outcome: outcomeOfSession(session) }],
    failedRefunds: [],
  };
}

/** A card that is detached since may not be charged, whenever it is heard of. */
function factsOfSetup(setup: Stripe.SetupIntent, ledger: LedgerId): AccountFacts | null {
  const { payment_method: method, latest_attempt: latest, metadata, status } = setup;
  const ours = namesOf(metadata, ledger);
  if (ours === null) return null;
  const isKept = status === 'succeeded' && method !== null && typeof method !== 'string';
  const customer = isKept ? (typeof method.customer === 'string' ? method.customer : method.customer?.id) : undefined;
  if (!isKept || customer === undefined || method.card === undefined) return { ...ours, facts: [], failedRefunds: [] };
  const consentedAt = latest === null || typeof latest === 'string' ? setup.created : latest.created;
  const { brand, last4 } = method.card;
  const said = { customerId: idOf({ id: customer }), paymentMethodId: idOf(method) };
  const shown = { brand: wordOf(brand) ?? 'card', last4: /^\d{4}$/.test(last4) ? last4 : '????' };
  const by = metadata?.by || 'system';
  return {
    ...ours,
    facts: [{ type: 'method', ...said, ...shown, consentedAtMs: msOf(consentedAt), by }],
    failedRefunds: [],
  };
}

/** Money that is on its way back may not arrive. */
function refundOf(intent: Stripe.PaymentIntent, refund: Stripe.Refund): PaymentFact[] {
  if (refund.status !== 'succeeded') return [];
  const said = { paymentId: idOf(intent), refundId: idOf(refund), amount: amountOf(refund) };
  return [{ type: 'refund', ...said, refundedAtMs: msOf(refund.created) }];
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

function disputeOf(intent: Stripe.PaymentIntent, dispute: Stripe.Dispute): PaymentFact[] {
  const outcome = DISPUTED[dispute.status];
  if (outcome === undefined) return [];
  const said = { paymentId: idOf(intent), disputeId: idOf(dispute), amount: amountOf(dispute) };
  return [{ type: 'dispute', ...said, openedAtMs: msOf(dispute.created), outcome }];
}

/** Null where it is not this ledger's, whose names it carries otherwise. */
function namesOf(metadata: Stripe.Metadata | null, ledger: LedgerId): { readonly accountId: AccountId } | null {
  const account = metadata?.account ?? '';
  return metadata?.ledger === ledger && ACCOUNT_ID_PATTERN.test(account) ? { accountId: accountId(account) } : null;
}
