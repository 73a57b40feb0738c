import Stripe from 'stripe';
import type { AccountId, LedgerId } from '../../contracts/ids.ts';
import type { StripeConfiguration, StripeSecrets } from '../../contracts/payments-configuration.ts';
import type { PaymentAttempt } from '../account/payments-state.ts';
import { isOpen } from '../account/payments-state.ts';
import {
  type AccountFacts,
  type AskedPayment,
  type Notice,
  type PaymentOutcome,
  type SavedMethod,
  type TellingProvider,
  UnprovenError,
} from './payment-provider.ts';
import { asked, type StripeClient, stripeClient, whyRefused } from './stripe-client.ts';
import { factsOf, noticeOf } from './stripe-facts.ts';
import { centsOf, declined, outcomeOfIntent, outcomeOfSession } from './stripe-outcomes.ts';
import { findMade, KEY_KNOWN_MS, type Names } from './stripe-search.ts';
import { whyUnproven } from './stripe-signature.ts';

/** The name of the provider in events. */
export const STRIPE = 'stripe';

interface StripeProviderOptions {
  readonly configuration: StripeConfiguration;
  readonly secrets: StripeSecrets;
  /** Which ledger asks: several may have one account of Stripe. */
  readonly ledgerId: () => Promise<LedgerId>;
  readonly clock: () => number;
}

/** Whoever was asking then under the key has ended: what is not there now never comes. */
const ASKING_MS = 30 * 60_000;
const CHARGED = ['latest_charge'];

/**
 * Charges by Stripe: for a purchase on a page of Stripe's (Checkout), for what begins by itself a saved card whose owner is not
 * there. Each attempt is one object there, made under the attempt's own key, and found again by the names it carries where the
 * key is forgotten. Nothing is made then: what is not there was never charged.
 */
export class StripeProvider implements TellingProvider {
  readonly name = STRIPE;
  readonly kinds = { payment: 'payment_intent', consent: 'checkout.session' };
  readonly #options: StripeProviderOptions;
  readonly #client: StripeClient;
  /** With connections of its own: what somebody waits for does not stand behind what begins by itself. */
  readonly #awaited: StripeClient;
  #ledgerId: Promise<LedgerId> | null = null;

  constructor(options: StripeProviderOptions) {
    this.#options = options;
    const client = () => stripeClient(options.configuration, options.secrets.secretKey);
    this.#client = client();
    this.#awaited = client();
  }

  close(): void {
    this.#client.close();
    this.#awaited.close();
  }

  ask = (one: AskedPayment): Promise<PaymentOutcome> => this.#told(one, false);

  withdraw = (one: AskedPayment): Promise<PaymentOutcome> => this.#told(one, true);

  /** @param ends whatever is not decided */
  async #told(one: AskedPayment, ends: boolean): Promise<PaymentOutcome> {
    const { attempt } = one;
    if (centsOf(attempt.price) === null)
      return { type: 'abandoned', reason: 'Stripe charges whole cents, and 0.50 USD at the least' };
    const names = await this.#namesOf(one);
    return asked(() => {
      if (attempt.kind === 'purchase') return this.#askPage(one, names, ends);
      return ends || this.#isForgotten(attempt) ? this.#endCharge(one, names) : this.#askCharge(one, names);
    });
  }

  async #askPage(one: AskedPayment, names: Names, ends: boolean): Promise<PaymentOutcome> {
    const { attempt } = one;
    const { sessions } = this.#client.stripe.checkout;
    const page = await this.#page(one, names);
    if (page === null) return this.#notThere(attempt);
    if (!('id' in page)) return page;
    if (ends) await sessions.expire(page.id).catch(unlessOver);
    // What is answered to a key is what was so then.
    const expand = CHARGED.map((one) => `payment_intent.${one}`);
    return outcomeOfSession(await sessions.retrieve(page.id, { expand: ['payment_intent', ...expand] }));
  }

  async #page(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const { sessions } = this.#client.stripe.checkout;
    const found = (): Promise<Made | null> =>
      findMade<Stripe.Checkout.Session>(attempt, names, (created) => sessions.list({ created, limit: 100 }));
    if (this.#isForgotten(attempt)) return found();
    const making = sessions.create(this.#pageOf(attempt, names), { idempotencyKey: keyOf(names) });
    return orFound<Made>(making, found, one);
  }

  /** Of the attempt alone, so that it is the same each time. */
  #pageOf({ price }: PaymentAttempt, names: Names): Stripe.Checkout.SessionCreateParams {
    const { successUrl, cancelUrl } = this.#options.configuration;
    const item = { currency: 'usd', unit_amount: wholeCents(price), product_data: { name: 'Credits' } };
    return {
      mode: 'payment',
      // Who pays in another currency would pay another amount than was claimed.
      adaptive_pricing: { enabled: false },
      line_items: [{ quantity: 1, price_data: item }],
      client_reference_id: names.account,
      metadata: { ...names },
      payment_intent_data: { metadata: { ...names } },
      success_url: successUrl,
      ...(cancelUrl === undefined ? {} : { cancel_url: cancelUrl }),
    };
  }

  async #askCharge(one: AskedPayment, names: Names): Promise<PaymentOutcome> {
    const made = await this.#charge(one, names);
    if (made === null) return this.#notThere(one.attempt);
    if ('id' in made) return outcomeOfIntent(await this.#intent(made.id));
    if (made.type !== 'refused') return made;
    // Something of it may be there all the same, or still be asked for: it is ended, and its key used up.
    const outcome = await this.#endCharge(one, names);
    return outcome.type === 'abandoned' || outcome.type === 'refused' ? made : outcome;
  }

  /** Also where nobody is there to decide it: it must not be charged once it is given up. */
  async #endCharge(one: AskedPayment, names: Names): Promise<PaymentOutcome> {
    const made = await this.#uncharged(one, names);
    if (made === null) return this.#notThere(one.attempt);
    if (!('id' in made)) return made;
    const intent = await this.#intent(made.id);
    const outcome = outcomeOfIntent(intent);
    if (!UNDECIDED.has(intent.status) || outcome.type === 'failed') return outcome;
    const idempotencyKey = `${keyOf(names)}/cancel`;
    const { paymentIntents } = this.#client.stripe;
    return outcomeOfIntent(await paymentIntents.cancel(intent.id, { expand: CHARGED }, { idempotencyKey }));
  }

  #intent(id: string): Promise<Stripe.PaymentIntent> {
    return this.#client.stripe.paymentIntents.retrieve(id, { expand: CHARGED });
  }

  /** @returns what is known of a decline; null where there is nothing yet, and no card to charge */
  async #charge(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const found = (): Promise<Made | null> => this.#findCharge(attempt, names);
    if (attempt.paymentId !== null) return { id: attempt.paymentId };
    const method = one.method();
    if (method?.provider !== STRIPE) return (await found()) ?? neverCharged(attempt, method);
    const charging = this.#client.stripe.paymentIntents.create(
      {
        amount: wholeCents(attempt.price),
        currency: 'usd',
        customer: method.customerId,
        payment_method: method.paymentMethodId,
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        confirm: true,
        off_session: true,
        error_on_requires_action: true,
        metadata: { ...names },
      },
      { idempotencyKey: keyOf(names) },
    );
    const answered = charging.catch((error: unknown) => {
      const said = declineOf(error) ?? refusalOf(error);
      if (said === null) throw error;
      return said;
    });
    return orFound<Made>(answered, found, one);
  }

  /** What there is of it. The key is used up for what charges nothing, so that whoever still asks under it charges nothing either. */
  async #uncharged(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const found = (): Promise<Made | null> => this.#findCharge(attempt, names);
    if (attempt.paymentId !== null) return { id: attempt.paymentId };
    if (this.#isForgotten(attempt)) return found();
    const terms = { amount: wholeCents(attempt.price), currency: 'usd', metadata: { ...names } };
    const making = this.#client.stripe.paymentIntents.create(terms, { idempotencyKey: keyOf(names) });
    return orFound<Made>(making, found, one);
  }

  #findCharge(attempt: PaymentAttempt, names: Names): Promise<Made | null> {
    const { paymentIntents } = this.#client.stripe;
    return findMade<Stripe.PaymentIntent>(attempt, names, (created) => paymentIntents.list({ created, limit: 100 }));
  }

  /** What has ended is made no more either. */
  #isForgotten = (attempt: PaymentAttempt): boolean =>
    !isOpen(attempt) || this.#options.clock() - attempt.startedAtMs >= KEY_KNOWN_MS;

  about(body: Buffer, signature: string): Notice | null {
    const { configuration, secrets, clock } = this.#options;
    const toleranceMs = configuration.webhookToleranceSeconds * 1_000;
    const why = whyUnproven(body, signature, { secrets: secrets.webhookSecrets, toleranceMs, nowMs: clock() });
    if (why !== null) throw new UnprovenError(why);
    return noticeOf(body);
  }

  async factsOf(notice: Notice): Promise<AccountFacts | null> {
    const ledger = await this.#ledger();
    return asked(() => factsOf(notice, ledger, this.#awaited.stripe));
  }

  async beginMethod({
    accountId: account,
    by,
    customerId,
  }: Parameters<TellingProvider['beginMethod']>[0]): Promise<{ readonly id: string; readonly url: string }> {
    const { successUrl, cancelUrl } = this.#options.configuration;
    const metadata = { ledger: await this.#ledger(), account, by };
    const session = await asked(() =>
      this.#awaited.stripe.checkout.sessions.create({
        mode: 'setup',
        allowed_payment_method_types: ['card'],
        // Stripe makes one otherwise.
        ...(customerId === null ? { customer_creation: 'always' } : { customer: customerId }),
        client_reference_id: account,
        metadata,
        setup_intent_data: { metadata },
        success_url: successUrl,
        ...(cancelUrl === undefined ? {} : { cancel_url: cancelUrl }),
      }),
    );
    if (session.url === null) throw new Error('Stripe names no page on which to consent');
    return { id: session.id, url: session.url };
  }

  async forgetMethod({ paymentMethodId }: Pick<SavedMethod, 'paymentMethodId'>): Promise<void> {
    await asked(() => this.#awaited.stripe.paymentMethods.detach(paymentMethodId));
  }

  #ledger(): Promise<LedgerId> {
    this.#ledgerId ??= this.#options.ledgerId().catch((error: unknown) => {
      this.#ledgerId = null;
      throw error;
    });
    return this.#ledgerId;
  }

  #notThere(attempt: PaymentAttempt): PaymentOutcome {
    const isOver = this.#options.clock() - attempt.startedAtMs >= KEY_KNOWN_MS + ASKING_MS;
    return isOver || !isOpen(attempt) ? NEVER_MADE : WAITS;
  }

  async #namesOf({ accountId: account, attempt }: { accountId: AccountId; attempt: PaymentAttempt }): Promise<Names> {
    return { ledger: await this.#ledger(), account, attempt: attempt.attemptId, kind: attempt.kind };
  }
}

type Refused = Extract<PaymentOutcome, { type: 'refused' }>;

/** Either an object of Stripe's, or that it was declined or refused at once. */
type Made = { readonly id: string } | Extract<PaymentOutcome, { type: 'failed' }> | Refused;

const WAITS: PaymentOutcome = { type: 'waits', url: null };
const NEVER_MADE: PaymentOutcome = { type: 'abandoned', reason: 'Stripe has nothing of it' };

/** In these Stripe waits for somebody. */
const UNDECIDED: ReadonlySet<string> = new Set(['requires_payment_method', 'requires_confirmation', 'requires_action']);

/** Ids of attempts are once in an account, and those of accounts once in a ledger: shorter than the 255 that Stripe takes. */
const keyOf = ({ ledger, account, attempt }: Names): string => `${ledger}/${account}/${attempt}`;

/**
 * Where Stripe answers no more what it did under the key (an earlier failure of its own, or other terms) it is looked for; and where it
 * refuses, unless nobody has asked before. @throws what making it did, or looking for it, where that does not tell
 */
async function orFound<One>(
  making: Promise<One>,
  find: () => Promise<One | null>,
  { isFirst }: Pick<AskedPayment, 'isFirst'>,
): Promise<One | Refused> {
  try {
    return await making;
  } catch (error) {
    const { StripeAPIError, StripeIdempotencyError } = Stripe.errors;
    const refused = refusalOf(error);
    if (refused !== null && isFirst) return refused;
    if (refused === null && !(error instanceof StripeAPIError || error instanceof StripeIdempotencyError)) throw error;
    const found = (await find()) ?? refused;
    if (found === null) throw error;
    return found;
  }
}

function refusalOf(error: unknown): Refused | null {
  const reason = whyRefused(error);
  return reason === null ? null : { type: 'refused', reason };
}

/** A page that is paid, or over, is not ended: what it is then is looked at. */
function unlessOver(error: unknown): void {
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) throw error;
}

/** Nobody had a card of Stripe's to charge, from its beginning on. */
const neverCharged = ({ startedAtMs }: PaymentAttempt, method: ReturnType<AskedPayment['method']>): Made | null =>
  method !== null && method.consentedAtMs <= startedAtMs
    ? { type: 'failed', code: 'no_payment_method', isTerminal: true }
    : null;

/** What a bank has refused, or a card that is no more; null where nobody knows. */
function declineOf(error: unknown): Made | null {
  const { StripeCardError, StripeInvalidRequestError } = Stripe.errors;
  if (error instanceof StripeCardError)
    return error.payment_intent?.id === undefined ? failedBy(error) : { id: error.payment_intent.id };
  const isGone = error instanceof StripeInvalidRequestError && error.code === 'resource_missing';
  return isGone && (error.param === 'payment_method' || error.param === 'customer') ? failedBy(error) : null;
}

function failedBy({ code, decline_code, advice_code }: InstanceType<typeof Stripe.errors.StripeError>): Made {
  const said = declined({
    ...(code === undefined ? {} : { code: code as Stripe.PaymentIntent.LastPaymentError.Code }),
    ...(decline_code === undefined ? {} : { decline_code }),
    ...(advice_code === undefined ? {} : { advice_code }),
  });
  if (said.type !== 'failed') throw new Error('a decline is a failure');
  return said;
}

function wholeCents(price: PaymentAttempt['price']): number {
  const cents = centsOf(price);
  if (cents === null) throw new Error('Stripe cannot charge so much');
  return cents;
}
