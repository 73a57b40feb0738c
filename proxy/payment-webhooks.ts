import type { Logger } from 'pino';
import type { EventLog } from '../contracts/event-log.ts';
import type { AccountId } from '../contracts/ids.ts';
import { SYSTEM } from '../contracts/permissions.ts';
import { catchUpAccount, unlessAside } from '../ledger/account/account-repository.ts';
import { type AccountCommand, isRefusedForNow } from '../ledger/account/commands.ts';
import { type CreditsMoved, sayMoved } from '../ledger/account/credits-moved.ts';
import { type CommandResult, executeOnRepository, type WhyNot } from '../ledger/account/execute-command.ts';
import { takesMoneyOf } from '../ledger/payments/ask-of-attempt.ts';
import {
  type Notice,
  type TellingProvider,
  UnfitAnswerError,
  UnprovenError,
  UnreadableMessageError,
} from '../ledger/payments/payment-provider.ts';
import { recordTold } from '../ledger/payments/record-facts.ts';
import { recordingBy } from '../ledger/recording-by.ts';
import type { AccountViews } from '../projections/account-views.ts';
import { tellMoved } from './tell-moved.ts';

interface WebhooksOptions {
  readonly log: EventLog;
  readonly accounts: AccountViews;
  /** Whose accounts it hears of: what is told of others, their own gateways hear. */
  readonly product: string;
  readonly provider: TellingProvider;
  readonly clock: () => number;
  /** Absent: nothing stands against what is decided. */
  readonly whyNot?: WhyNot;
  /** Whether anything final may be written now. */
  readonly mayWrite: () => boolean;
  readonly logger: Logger;
  readonly answerMs?: number;
}

/** What a message is answered with: the provider tells it again, for days, until the answer is a 2xx. */
export interface WebhookAnswer {
  readonly status: 200 | 400 | 409 | 503;
  /** For whoever looks at deliveries at the provider's. */
  readonly says: string;
}

const AT_ONCE_MAX = 16;
/** So long a message waits for its answer, less than its provider does: the log may be locked, and each question to the provider takes its time. */
const ANSWER_MS = 10_000;
/** With those that were answered by then, and go on: what they have come to is not asked for again. */
const UNDER_WAY_MAX = 4 * AT_ONCE_MAX;
const TOLD_MS = 60_000;
/** As it stands in events, as with what the gateway asks of by itself. */
const ACTOR = 'payments';

/**
 * What a provider tells by itself. Its message is proven, and then only says what to ask the provider about: what that answers is
 * written down, each once, in any order, however often it is told.
 *
 *   200   it stands in the log; or it never concerns an account of this ledger and product, however often it is told
 *   400   nobody has proven that it is the provider's, or it is and cannot be read, which telling it again does not mend
 *   409   it concerns an account here, and was refused: told again it shows among the provider's failed deliveries, too
 *   503   it could not be looked into, or written down, now, or not within seconds: that goes on; or it is of an account of
 *         another product, and none is known of the one that is served, which may be configured wrong
 */
export class PaymentWebhooks {
  readonly #options: WebhooksOptions;
  readonly #underWay = new Set<Promise<WebhookAnswer>>();
  /** Of these, whose messages have no answer yet. */
  #waiting = 0;
  /** Messages that nobody has proven: whoever reaches the place may send any number. */
  readonly #unproven = new ToldSeldom();
  readonly #ofOthers = new ToldSeldom();

  constructor(options: WebhooksOptions) {
    this.#options = options;
  }

  async hear(body: Buffer, signature: string): Promise<WebhookAnswer> {
    if (this.#waiting >= AT_ONCE_MAX || this.#underWay.size >= UNDER_WAY_MAX) return LATER;
    const work = this.#hear(body, signature);
    this.#underWay.add(work);
    const ended = work.finally(() => this.#underWay.delete(work));
    const late = Promise.withResolvers<WebhookAnswer>();
    const timer = setTimeout(() => {
      this.#options.logger.warn('a webhook is not written down in time; it is told again, and goes on meanwhile');
      late.resolve(LATER);
    }, this.#options.answerMs ?? ANSWER_MS);
    this.#waiting++;
    try {
      return await Promise.race([ended, late.promise]);
    } finally {
      this.#waiting--;
      clearTimeout(timer);
    }
  }

  /** Until what is heard is written down. */
  async close(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #hear(body: Buffer, signature: string): Promise<WebhookAnswer> {
    const { provider, mayWrite, logger } = this.#options;
    try {
      const notice = provider.about(body, signature);
      if (notice === null) return NOTHING;
      if (!mayWrite()) return LATER;
      const known = await provider.factsOf(notice);
      if (known === null) return NOTHING;
      const { accountId, facts } = known;
      const elsewhere = await this.#productElsewhere(accountId);
      if (elsewhere !== null) return this.#leave(notice, elsewhere);
      const nowMs = this.#options.clock();
      const run = (command: AccountCommand) => this.#run(accountId, command);
      const says = ['recorded'];
      const tell = (moved: CreditsMoved): void => {
        tellMoved(this.#options.logger, accountId, moved);
        says.push(`${moved.id}: ${sayMoved(moved)}`);
      };
      const refusals = await recordTold(facts, {
        ...{ provider: provider.name, actor: ACTOR, nowMs, run, tell },
        ask: async () => (await provider.factsOf(notice))?.facts ?? [],
        state: () => this.#options.accounts.read(accountId).state,
      });
      if (refusals.length === 0) return { status: 200, says: says.join('\n') };
      const reasons = refusals.map(({ message }) => message);
      if (refusals.every(isRefusedForNow)) {
        logger.warn(
          { accountId, notice, reasons },
          'what the payment provider tells cannot be written yet; it is told again',
        );
        return LATER;
      }
      logger.error({ accountId, notice, reasons }, 'what the payment provider tells of an account is refused');
      return { status: 409, says: 'refused; the log of the gateway says why' };
    } catch (error) {
      if (error instanceof UnprovenError) {
        const { message: reason } = error;
        this.#unproven.count(this.#options.clock(), (count) =>
          logger.warn(
            { reason, count },
            'webhooks are not proven to be the payment provider’s: so many since this was told last',
          ),
        );
        return { status: 400, says: error.message };
      }
      if (error instanceof UnreadableMessageError) {
        logger.error({ reason: error.message }, 'a webhook that is proven to be the payment provider’s cannot be read');
        return { status: 400, says: error.message };
      }
      logger[error instanceof UnfitAnswerError ? 'error' : 'warn'](
        { err: error },
        'a webhook could not be looked into, or written down; it is told again',
      );
      return LATER;
    }
  }

  /** The product of an account whose money others take; null where it is taken here. */
  async #productElsewhere(accountId: AccountId): Promise<string | null> {
    const { accounts, product } = this.#options;
    if (accounts.read(accountId).state.type === 'unopened') await this.#catchUp(accountId);
    const { state } = accounts.read(accountId);
    return state.type === 'unopened' || takesMoneyOf(product, state) ? null : state.organization.product;
  }

  /** Its own gateway hears it, too: but where nobody is of the product here, this may be that gateway, and its configuration wrong. */
  #leave(notice: Notice, itsProduct: string): WebhookAnswer {
    const { accounts, product, clock, logger } = this.#options;
    const said = { notice, product: itsProduct, served: product };
    // One that cannot be read may be of it: only one that is known to be shows that this is another's.
    if (accounts.products.lack(product)) {
      this.#ofOthers.count(clock(), (count) =>
        logger.warn(
          { ...said, count },
          'webhooks are of accounts of another product, and none that can be read is of the one that is served: they are told again, until one is or `product` in the configuration is mended; so many since this was told last',
        ),
      );
      return LATER;
    }
    logger.info(said, 'a webhook is of an account of another product: it is left to the gateway of that');
    return NOTHING;
  }

  /** What another gateway has written is not yet in the views of this one: refused is only what is so by the log. */
  async #run(accountId: AccountId, command: AccountCommand): Promise<CommandResult> {
    const { log, accounts, clock, whyNot } = this.#options;
    const run = () =>
      executeOnRepository(log, accounts, accountId, command, SYSTEM, recordingBy(ACTOR, clock()), { whyNot });
    const result = await run();
    if (result.type === 'done') return result;
    await this.#catchUp(accountId);
    return run();
  }

  #catchUp(accountId: AccountId): Promise<void> {
    const { log, accounts } = this.#options;
    return unlessAside(accounts, accountId, () => catchUpAccount(log, accounts, accountId));
  }
}

/** Of what may come any number of times: told once in a while, with how many there were since. */
class ToldSeldom {
  #count = 0;
  #toldMs = Number.NEGATIVE_INFINITY;

  count(nowMs: number, tell: (count: number) => void): void {
    this.#count++;
    if (Math.abs(nowMs - this.#toldMs) < TOLD_MS) return;
    tell(this.#count);
    this.#count = 0;
    this.#toldMs = nowMs;
  }
}

const NOTHING: WebhookAnswer = { status: 200, says: 'nothing of this ledger and product' };
const LATER: WebhookAnswer = { status: 503, says: 'not now; tell it again' };
