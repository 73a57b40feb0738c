import Stripe from 'stripe';
import { UnfitAnswerError } from './payment-provider.ts';
import {
  type Dispute,
  type Intent,
  type NamedAnswer,
  type Refund,
  read,
  type Session,
  type Setup,
  type Terms,
  type Total,
} from './stripe-answers.ts';

/** One that was asked for by its id: whose it is, which may be anybody's, and all of it, where it matters here. */
export interface Fetched<One> extends NamedAnswer {
  /** @throws UnfitAnswerError */
  whole(): One;
}

/** One of many: whose it is, and the rest where it matters here. */
export interface ListedIntent extends NamedAnswer {
  /** @throws UnfitAnswerError */
  terms(): Terms;
}

export interface ListedPage extends NamedAnswer {
  /** @throws UnfitAnswerError */
  total(): Total;
}

interface Created {
  readonly gte: number;
  readonly lte: number;
}

const CHARGED = ['latest_charge'];
const OF_SETUP = ['payment_method', 'latest_attempt'];
const OF_SESSION = [
  ...['payment_intent', 'payment_intent.latest_charge', 'setup_intent'],
  ...OF_SETUP.map((one) => `setup_intent.${one}`),
];
const PAGE = 100;

/**
 * What is asked of Stripe, and nothing else; each answer is read once, here, and is of ours from then on. An answer that cannot be
 * read, or is another's than was asked for, is no answer (`UnfitAnswerError`); Stripe's errors are thrown as its package does.
 */
export class StripeApi {
  readonly #stripe: Stripe;

  constructor(stripe: Stripe) {
    this.#stripe = stripe;
  }

  async charge(params: Stripe.PaymentIntentCreateParams, idempotencyKey: string): Promise<string> {
    return read('made', await answerOf(this.#stripe.paymentIntents.create(params, { idempotencyKey }))).id;
  }

  async intent(id: string): Promise<Fetched<Intent>> {
    return fetched('payment_intent', id, this.#stripe.paymentIntents.retrieve(id, { expand: CHARGED }));
  }

  async cancel(
    id: string,
    why: Pick<Stripe.PaymentIntentCancelParams, 'cancellation_reason'>,
    idempotencyKey: string,
  ): Promise<Intent> {
    const cancelling = this.#stripe.paymentIntents.cancel(id, { ...why, expand: CHARGED }, { idempotencyKey });
    return (await fetched('payment_intent', id, cancelling)).whole();
  }

  intents(created: Created, of: { readonly customer?: string } = {}): AsyncIterable<ListedIntent> {
    return listed(listedIntent, (after) => this.#stripe.paymentIntents.list({ created, ...of, ...after }));
  }

  /** Those of some names that were paid, as Stripe's search knows them, which is behind by a minute, or by an hour. */
  async paidOf(names: Readonly<Record<string, string>>): Promise<ListedIntent[]> {
    const clauses = Object.entries(names).map(([name, value]) => `metadata["${name}"]:"${value}"`);
    const query = [...clauses, 'status:"succeeded"'].join(' AND ');
    const { data } = read('list', await answerOf(this.#stripe.paymentIntents.search({ query, limit: PAGE })));
    return data.map(listedIntent);
  }

  async openPage(params: Stripe.Checkout.SessionCreateParams, idempotencyKey: string): Promise<string> {
    return read('made', await answerOf(this.#stripe.checkout.sessions.create(params, { idempotencyKey }))).id;
  }

  async page(id: string): Promise<Fetched<Session>> {
    return fetched('checkout.session', id, this.#stripe.checkout.sessions.retrieve(id, { expand: OF_SESSION }));
  }

  async endPage(id: string): Promise<void> {
    await answerOf(this.#stripe.checkout.sessions.expire(id));
  }

  pages(created: Created): AsyncIterable<ListedPage> {
    return listed(listedPage, (after) => this.#stripe.checkout.sessions.list({ created, ...after }));
  }

  async openConsent(
    params: Stripe.Checkout.SessionCreateParams,
  ): Promise<{ readonly id: string; readonly url: string }> {
    return read('consent', await answerOf(this.#stripe.checkout.sessions.create(params)));
  }

  async setup(id: string): Promise<Fetched<Setup>> {
    return fetched('setup_intent', id, this.#stripe.setupIntents.retrieve(id, { expand: OF_SETUP }));
  }

  /** Stripe refuses to detach what is detached. */
  async forget(paymentMethodId: string): Promise<void> {
    const method = read('method', await answerOf(this.#stripe.paymentMethods.retrieve(paymentMethodId)));
    assertSame('method', paymentMethodId, method);
    if (method.customer) await answerOf(this.#stripe.paymentMethods.detach(paymentMethodId));
  }

  /** The payment that a charge, a refund or a dispute is of; null where it is of none. */
  async paymentOf(kind: 'charges' | 'refunds' | 'disputes', id: string): Promise<string | null> {
    const part = read('part', await answerOf(this.#stripe[kind].retrieve(id)));
    assertSame(kind, id, part);
    return part.payment_intent ?? null;
  }

  refunds(payment: string): AsyncIterable<Refund> {
    return listed(reading('refund'), (after) => this.#stripe.refunds.list({ payment_intent: payment, ...after }));
  }

  disputes(payment: string): AsyncIterable<Dispute> {
    return listed(reading('dispute'), (after) => this.#stripe.disputes.list({ payment_intent: payment, ...after }));
  }
}

/** Errors of its package that are none of Stripe's may hold what it has answered. @throws StripeError, UnfitAnswerError */
async function answerOf(asking: Promise<unknown>): Promise<unknown> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError || error instanceof UnfitAnswerError) throw error;
    throw new UnfitAnswerError('Stripe answers what its own package cannot read');
  }
}

type Single = 'payment_intent' | 'setup_intent' | 'checkout.session';

async function fetched<Kind extends Single>(
  kind: Kind,
  id: string,
  asking: Promise<unknown>,
): Promise<Fetched<ReturnType<typeof read<Kind>>>> {
  const answer = await answerOf(asking);
  const named = read('named', answer);
  assertSame(kind, id, named);
  return { ...named, whole: () => read(kind, answer) };
}

function assertSame(kind: string, id: string, answered: { readonly id: string }): void {
  if (answered.id !== id) throw new UnfitAnswerError(`Stripe answers another of its ${kind} than was asked for`);
}

const reading =
  <Kind extends 'refund' | 'dispute'>(kind: Kind) =>
  (answer: unknown): ReturnType<typeof read<Kind>> =>
    read(kind, answer);

const listedIntent = (answer: unknown): ListedIntent => ({
  ...read('named', answer),
  terms: () => read('terms', answer),
});

const listedPage = (answer: unknown): ListedPage => ({
  ...read('named', answer),
  total: () => read('total', answer),
});

/** Whoever reads it ends it: a list may say for ever that there is more. */
async function* listed<One extends { readonly id: string }>(
  reads: (answer: unknown) => One,
  list: (after: { readonly limit: number; readonly starting_after?: string }) => Promise<unknown>,
): AsyncGenerator<One> {
  let last: string | null = null;
  for (;;) {
    const after: { readonly starting_after?: string } = last === null ? {} : { starting_after: last };
    const { data, has_more: hasMore } = read('list', await answerOf(list({ limit: PAGE, ...after })));
    for (const answer of data) {
      const one = reads(answer);
      last = one.id;
      yield one;
    }
    if (!hasMore) return;
    if (data.length === 0) throw new UnfitAnswerError('Stripe lists nothing, and says that there is more');
  }
}
