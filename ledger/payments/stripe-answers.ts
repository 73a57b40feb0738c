import { z } from 'zod';
import { paymentId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { UnfitAnswerError } from './payment-provider.ts';

/** Stripe counts cents. */
export const CENT = 10_000n;

/** What Stripe calls something of its own: it stands in events, in the id of a grant, and in the address at which it is asked for. */
const id = z.string().regex(/^\w{1,80}$/);
/** Why something was declined or cancelled. That it was is known without it: what is no such word is left out. */
const word = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/)
  .nullish()
  .catch(null);
const FAR_FUTURE_S = 8_640_000_000_000;
const ms = z
  .int()
  .min(0)
  .max(FAR_FUTURE_S)
  .transform((seconds) => seconds * 1_000);
const amount = z
  .int()
  .min(0)
  .transform((cents) => microUsd(BigInt(cents) * CENT));
const currency = z.literal('usd');
/** It is shown, and opened by whoever pays. */
const address = z.string().regex(/^https?:\/\/[\x21-\x7e]{1,4000}$/);

/** What of ours an object carries; others' carry anything. */
const names = z
  .object({
    ...{ ledger: z.string().optional(), account: z.string().optional(), attempt: z.string().optional() },
    ...{ kind: z.string().optional(), by: z.string().optional() },
  })
  .nullish()
  .transform((metadata) => metadata ?? {});
export type CarriedNames = z.output<typeof names>;

const named = z.object({ id, metadata: names });
export type NamedAnswer = z.output<typeof named>;

/** Of what is listed, where it is ours: others' are of anything. */
const terms = z.object({ amount, currency: z.string(), status: z.string() });
export type Terms = z.output<typeof terms>;

/** The same of a page, which need not name any. */
const total = z.object({ amount_total: amount.nullish(), currency: z.string().nullish() });
export type Total = z.output<typeof total>;

const idOfWhole = z.union([id, z.object({ id }).transform((one) => one.id)]);

const intent = z.object({
  ...{ id: id.transform(paymentId), metadata: names, created: ms },
  ...{ amount, amount_received: amount, currency, cancellation_reason: word },
  status: z.enum([
    ...['canceled', 'processing', 'requires_action', 'requires_capture', 'requires_confirmation'],
    ...['requires_payment_method', 'succeeded'],
  ] as const),
  /** With what it was charged: Stripe keeps what was declined with why. */
  payment_method: idOfWhole.nullish(),
  last_payment_error: z
    .object({ code: word, decline_code: word, advice_code: word, payment_method: idOfWhole.nullish() })
    .nullish(),
  latest_charge: z.object({ id, created: ms }).nullish(),
});
export type Intent = z.output<typeof intent>;

const method = z.object({
  id,
  customer: idOfWhole.nullish(),
  card: z.object({ brand: word, last4: z.string() }).nullish(),
});

const setup = z.object({
  ...{ id, metadata: names, created: ms },
  status: z.enum([
    ...['canceled', 'processing', 'requires_action', 'requires_confirmation', 'requires_payment_method', 'succeeded'],
  ] as const),
  payment_method: method.nullish(),
  latest_attempt: z.object({ created: ms }).nullish(),
});
export type Setup = z.output<typeof setup>;

const session = z.object({
  ...{ id, metadata: names, amount_total: amount.nullish(), currency: currency.nullish() },
  mode: z.enum(['payment', 'setup']),
  status: z.enum(['open', 'complete', 'expired']),
  ...{ url: address.nullish(), payment_intent: intent.nullish(), setup_intent: setup.nullish() },
});
export type Session = z.output<typeof session>;

/** What went back of a payment, or is disputed; some are of no payment of this kind. */
const part = z.object({ id, payment_intent: idOfWhole.nullish() });

const taken = { id, created: ms, amount, currency, payment_intent: idOfWhole, charge: idOfWhole.nullish() };
const refund = z.object({
  ...taken,
  status: z.enum(['pending', 'requires_action', 'succeeded', 'failed', 'canceled']).nullable(),
});
export type Refund = z.output<typeof refund>;

const dispute = z.object({
  ...taken,
  status: z.enum([
    ...['needs_response', 'under_review', 'won', 'lost', 'appeal_needs_response', 'appeal_under_review', 'prevented'],
    ...['warning_needs_response', 'warning_under_review', 'warning_closed'],
  ] as const),
});
export type Dispute = z.output<typeof dispute>;

const page = z.object({ data: z.array(z.unknown()), has_more: z.boolean() });

/**
 * All that is read of what Stripe answers, by what it is called there. Amounts are in USD, instants in milliseconds; what is not
 * named here is not looked at.
 */
const ANSWERS = {
  payment_intent: intent,
  setup_intent: setup,
  method,
  'checkout.session': session,
  refund,
  dispute,
  part,
  named,
  terms,
  total,
  made: z.object({ id }),
  consent: z.object({ id, url: address }),
  list: page,
  /** Of an error that says that a card was declined. */
  declined: z.object({ payment_intent: z.object({ id }).nullish(), code: word, decline_code: word, advice_code: word }),
} as const;

type Answers = typeof ANSWERS;

/** @throws UnfitAnswerError, which says where it is not as it has to be, and nothing of what it says */
export function read<Kind extends keyof Answers>(kind: Kind, answer: unknown): z.output<Answers[Kind]> {
  const parsed = ANSWERS[kind].safeParse(answer);
  if (parsed.success) return parsed.data as z.output<Answers[Kind]>;
  const faults = parsed.error.issues.map(({ path, code }) => `${path.join('.') || 'the whole'} (${code})`);
  throw new UnfitAnswerError(`Stripe answers what cannot be read as its ${kind}: ${faults.slice(0, 5).join(', ')}`);
}
