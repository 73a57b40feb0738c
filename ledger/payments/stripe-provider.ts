import Stripe from 'stripe';
import type { AccountId, LedgerId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { StripeConfiguration, StripeSecrets } from '../../contracts/payments-configuration.ts';
import type { PaymentAttempt } from '../account/payments-state.ts';
import { isOpen } from '../account/payments-state.ts';
import {
  type AccountFacts,
  type AskedPayment,
  type Notice,
  type PaymentOutcome,
  type Question,
  type SavedMethod,
  type TellingProvider,
  UnfitAnswerError,
  UnprovenError,
  type WithdrawnPayment,
} from './payment-provider.ts';
import { type Intent, type NamedAnswer, read, type Session } from './stripe-answers.ts';
import { StripeApi } from './stripe-api.ts';
import { chargedBefore, findCharge } from './stripe-charges.ts';
import { asked, isGone, type StripeClient, stripeClient, whyRefused } from './stripe-client.ts';
import { factsOf, noticeOf } from './stripe-facts.ts';
import {
  BY_OPERATOR,
  centsOf,
  declined,
  outcomeOfCharge,
  outcomeOfIntent,
  outcomeOfSession,
} from './stripe-outcomes.ts';
import { findOthersPage, findPage, findPageWithKey, PaidPurchases } from './stripe-pages.ts';
import { isOf, KEY_KNOWN_MS, type Names } from './stripe-search.ts';
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

/**
 * Charges by Stripe: for a purchase on a page of Stripe's (Checkout), for what begins by itself a saved card whose owner is not
 * there. Each attempt is one object there, made under the attempt's own key, and found again by the names it carries where the
 * key is forgotten. Nothing is made then: what is not there was never charged.
 */
export class StripeProvider implements TellingProvider {
  readonly name = STRIPE;
  readonly kinds = { payment: 'payment_intent', consent: 'checkout.session' };
  readonly #options: StripeProviderOptions;
  readonly #clients: readonly StripeClient[];
  readonly #api: StripeApi;
  /** With connections of its own: what somebody waits for does not stand behind what begins by itself. */
  readonly #awaited: StripeApi;
  readonly #paid = new PaidPurchases();
  #ledgerId: Promise<LedgerId> | null = null;

  constructor(options: StripeProviderOptions) {
    this.#options = options;
    const client = () => stripeClient(options.configuration, options.secrets.secretKey);
    const [byItself, awaited] = [client(), client()];
    this.#clients = [byItself, awaited];
    this.#api = new StripeApi(byItself.stripe);
    this.#awaited = new StripeApi(awaited.stripe);
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  declines = (price: MicroUsd): string | null =>
    centsOf(price) === null ? 'Stripe charges whole cents, and 0.50 USD at the least' : null;

  ask = (one: AskedPayment): Promise<PaymentOutcome> => this.#told(one, false);

  withdraw = (one: WithdrawnPayment): Promise<PaymentOutcome> => this.#told(one, true);

  /** @param ends whatever is not decided */
  async #told(one: WithdrawnPayment, ends: boolean): Promise<PaymentOutcome> {
    const { attempt } = one;
    const reason = this.declines(attempt.price);
    if (reason !== null) return { type: 'abandoned', reason };
    const names = await this.#namesOf(one);
    return asked(() => {
      if (attempt.kind === 'purchase') return this.#askPage(one, names, ends);
      return ends || this.#isForgotten(attempt) ? this.#endCharge(one, names) : this.#askCharge(one, names);
    });
  }

  async #askPage(one: AskedPayment, names: Names, ends: boolean): Promise<PaymentOutcome> {
    // Before a page is made on which it could be paid once more.
    const paid = await this.#paid.find(one.attempt, this.#look(names));
    if (paid !== null) return outcomeOfIntent(await this.#intent(made(paid.id), one, names));
    const there = await this.#page(one, names);
    if (there === null) return this.#noPage(one, names);
    if (there.type !== 'made') return there;
    if (ends) await this.#api.endPage(there.id).catch(unlessOver);
    // What is answered to a key is what was so then.
    const page = (await this.#api.page(there.id)).whole();
    const { attempt } = one;
    assertOf({ names, attempt, kind: 'checkout.session' }, { metadata: page.metadata, amount: page.amount_total });
    if (page.payment_intent) assertOf({ names, attempt, kind: 'payment_intent' }, page.payment_intent);
    return outcomeOfSession(page);
  }

  async #page(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const look = this.#look(names);
    const found = () => findPage(attempt, look).then(madeOf);
    if (this.#isForgotten(attempt)) return found();
    const foundOrNone = async () => (await found()) ?? ofAnotherAmount(await findPageWithKey(attempt, look));
    return orFound(this.#api.openPage(this.#pageOf(attempt, names), keyOf(names)).then(made), foundOrNone, one);
  }

  /** What is there under its names all the same is told: it may have been paid. */
  async #noPage({ attempt }: AskedPayment, names: Names): Promise<PaymentOutcome> {
    const outcome = this.#notThere(attempt);
    return outcome.type === 'waits'
      ? outcome
      : (ofAnotherAmount(await findOthersPage(attempt, this.#look(names))) ?? outcome);
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
    if (made.type === 'made') return outcomeOfCharge(await this.#intent(made, one, names), one);
    if (made.type !== 'refused') return made;
    // Something of it may be there all the same, or still be asked for: it is ended, and its key used up.
    const outcome = await this.#endCharge(one, names);
    return outcome.type === 'abandoned' || outcome.type === 'refused' ? made : outcome;
  }

  /** Also where nobody is there to decide it: it must not be charged once it is given up. */
  async #endCharge(one: WithdrawnPayment, names: Names): Promise<PaymentOutcome> {
    const made = await this.#uncharged(one, names);
    if (made === null) return this.#notThere(one.attempt);
    if (made.type !== 'made') return made;
    const intent = await this.#intent(made, one, names);
    const outcome = outcomeOfCharge(intent, one);
    // After another card's decline one is begun again by itself, and after what an operator ends none.
    const isOver = outcome.type === 'failed' && (outcome.declinedMethodId === undefined || one.endedBy === undefined);
    if (!UNDECIDED.has(intent.status) || isOver) return outcome;
    const { attempt } = one;
    const [key, why] = one.endedBy === undefined ? ['cancel', {}] : ['end', ENDED_BY_OPERATOR];
    const ended = await this.#api.cancel(intent.id, why, `${keyOf(names)}/${key}`);
    assertOf({ names, attempt, kind: 'payment_intent' }, ended);
    return outcomeOfIntent(ended);
  }

  /** @throws UnfitAnswerError where it is of something else */
  async #intent({ id, ...found }: MadeThere, { attempt }: AskedPayment, names: Names): Promise<Intent> {
    const intent = (await this.#api.intent(id)).whole();
    assertOf({ names: { ...names, ...found.as }, attempt, kind: 'payment_intent' }, intent);
    return intent;
  }

  /** @returns what is known of a decline; null where there is nothing yet, and no card to charge */
  async #charge(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const found = () => this.#findCharge(one, names);
    if (attempt.paymentId !== null) return made(attempt.paymentId);
    const before = await this.#chargedBefore(one, names);
    if (before !== null) return before;
    const method = one.method();
    if (method?.provider !== STRIPE) return (await found()) ?? neverCharged(attempt, method);
    const terms: Stripe.PaymentIntentCreateParams = {
      amount: wholeCents(attempt.price),
      currency: 'usd',
      customer: method.customerId,
      payment_method: method.paymentMethodId,
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      confirm: true,
      off_session: true,
      error_on_requires_action: true,
      metadata: { ...names },
    };
    const answered = this.#api.charge(terms, keyOf(names)).then(made, (error: unknown): Made => {
      const said = declineOf(error) ?? refusalOf(error);
      if (said === null) throw error;
      return said;
    });
    return orFound(answered, found, one);
  }

  /** What there is of it. The key is used up for what charges nothing, so that whoever still asks under it charges nothing either. */
  async #uncharged(one: AskedPayment, names: Names): Promise<Made | null> {
    const { attempt } = one;
    const found = () => this.#findCharge(one, names);
    if (attempt.paymentId !== null) return made(attempt.paymentId);
    if (this.#isForgotten(attempt)) return found();
    const before = await this.#chargedBefore(one, names);
    if (before !== null) return before;
    const terms = { amount: wholeCents(attempt.price), currency: 'usd', metadata: { ...names } };
    return orFound(this.#api.charge(terms, keyOf(names)).then(made), found, one);
  }

  #findCharge = (one: AskedPayment, names: Names): Promise<Made | null> =>
    findCharge(one, this.#look(names)).then(madeOf);

  #chargedBefore = (one: AskedPayment, names: Names): Promise<Made | null> =>
    chargedBefore(one, this.#look(names)).then(madeOf);

  #look = (names: Names) => ({ names, api: this.#api, nowMs: this.#options.clock() });

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

  async factsOf(notice: Notice, { isByItself }: Question = { isByItself: false }): Promise<AccountFacts | null> {
    const ledger = await this.#ledger();
    return asked(() => factsOf(notice, ledger, isByItself ? this.#api : this.#awaited));
  }

  async beginMethod({
    accountId: account,
    by,
    customerId,
  }: Parameters<TellingProvider['beginMethod']>[0]): Promise<{ readonly id: string; readonly url: string }> {
    const { successUrl, cancelUrl } = this.#options.configuration;
    const metadata = { ledger: await this.#ledger(), account, by };
    return asked(() =>
      this.#awaited.openConsent({
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
  }

  async forgetMethod({ paymentMethodId }: Pick<SavedMethod, 'paymentMethodId'>): Promise<void> {
    await asked(() => this.#awaited.forget(paymentMethodId));
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

type Failed = Extract<PaymentOutcome, { type: 'failed' }>;

/** Either what Stripe calls an object of its, or that it was declined or refused at once. */
type Made = MadeThere | Failed | Refused;

interface MadeThere {
  readonly type: 'made';
  readonly id: string;
  /** Of whichever attempt of the period it was found to be. */
  readonly as?: { readonly attempt: string };
}

const made = (id: string): MadeThere => ({ type: 'made', id });
const madeOf = (found: NamedAnswer | null): Made | null => {
  if (found === null) return null;
  const { id, metadata } = found;
  return { type: 'made', id, ...(metadata.attempt === undefined ? {} : { as: { attempt: metadata.attempt } }) };
};

/** Nothing is charged for the attempt: its id was that of another. */
function ofAnotherAmount(page: NamedAnswer | null): Refused | null {
  if (page === null) return null;
  return { type: 'refused', reason: `Stripe has a Checkout session of another amount under its id (${page.id})` };
}

interface AskedOf {
  readonly names: Names;
  readonly attempt: PaymentAttempt;
  readonly kind: string;
}

/** Whatever Stripe says is there under the attempt's key, or by what it was called before. @throws UnfitAnswerError */
function assertOf({ names, attempt, kind }: AskedOf, it: Pick<Intent | Session, 'metadata'> & Priced): void {
  if (!isOf(it.metadata, names))
    throw new UnfitAnswerError(`Stripe answers a ${kind} that is not of ${names.attempt} of ${names.account}`);
  if (it.amount !== attempt.price)
    throw new UnfitAnswerError(`Stripe answers a ${kind} of ${names.attempt} of another amount than was asked for`);
}

interface Priced {
  readonly amount?: MicroUsd | null | undefined;
}

const WAITS: PaymentOutcome = { type: 'waits', url: null };
const NEVER_MADE: PaymentOutcome = { type: 'abandoned', reason: 'Stripe has nothing of it' };

const ENDED_BY_OPERATOR = { cancellation_reason: BY_OPERATOR } as const;

/** In these Stripe waits for somebody. */
const UNDECIDED: ReadonlySet<string> = new Set(['requires_payment_method', 'requires_confirmation', 'requires_action']);

/** Ids of attempts are once in an account, and those of accounts once in a ledger: shorter than the 255 that Stripe takes. */
const keyOf = ({ ledger, account, attempt }: Names): string => `${ledger}/${account}/${attempt}`;

/**
 * Where Stripe answers no more what it did under the key (an earlier failure of its own, or other terms) it is looked for; and where it
 * refuses, unless nobody has asked before. @throws what making it did, or looking for it, where that does not tell
 */
async function orFound(
  making: Promise<Made>,
  find: () => Promise<Made | null>,
  { isFirst }: Pick<AskedPayment, 'isFirst'>,
): Promise<Made> {
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
const neverCharged = ({ startedAtMs }: PaymentAttempt, method: ReturnType<AskedPayment['method']>): Failed | null =>
  method !== null && method.consentedAtMs <= startedAtMs
    ? { type: 'failed', code: 'no_payment_method', isTerminal: true }
    : null;

/** What a bank has refused, or a card that is no more; null where nobody knows. @throws UnfitAnswerError */
function declineOf(error: unknown): Made | null {
  if (error instanceof Stripe.errors.StripeCardError) {
    const { payment_intent: intent, ...said } = read('declined', error);
    return intent ? made(intent.id) : declined(said);
  }
  return isGone(error) ? declined(read('declined', error)) : null;
}

function wholeCents(price: PaymentAttempt['price']): number {
  const cents = centsOf(price);
  if (cents === null) throw new Error('Stripe cannot charge so much');
  return cents;
}
