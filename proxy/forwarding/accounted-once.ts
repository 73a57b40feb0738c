import { isEstimate, type Outcome } from '../../contracts/events.ts';
import { NO_TOKENS, type TokenCounts } from '../../contracts/usage.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import type { GuardedMeter } from '../meter/guarded-meter.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import { type EndedRequest, endingOf, isPriorityUnasked } from './ending.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import type { ForwardingParts } from './forwarding-parts.ts';
import { estimateInput } from './input-estimate.ts';

/** What is known of a request's answer when it ends. */
interface EndedAnswer {
  readonly deployment: Deployment;
  /** The upstream's own id of the request, from the answer's head. */
  readonly upstreamRequestId: string | null;
  /** Null where no answer with status 200 has begun. */
  readonly meter: GuardedMeter | null;
  /** The client gets an error, and nothing of an answer. */
  readonly isWithheld: boolean;
}

/** Finishes or abandons one request, the first time that it is asked to. */
export class AccountedOnce {
  readonly #request: ForwardedRequest;
  readonly #parts: ForwardingParts;
  #isAccounted = false;
  #isUnbilled = false;

  constructor(request: ForwardedRequest, parts: ForwardingParts) {
    this.#request = request;
    this.#parts = parts;
  }

  /** The journal has refused what a complete answer costs, so that nobody may get it as complete. */
  get isUnbilled(): boolean {
    return this.#isUnbilled;
  }

  /** No upstream has seen it. */
  abandon(): void {
    if (this.#isAccounted) return;
    this.#isAccounted = true;
    this.#parts.accounting.abandon(this.#request.money);
  }

  /** No fault of the money side reaches the answer's bytes; a request that it leaves open is recovered at the start. */
  finish(outcome: Exclude<Outcome, 'recovered'>, answer: EndedAnswer): void {
    if (this.#isAccounted) return;
    this.#isAccounted = true;
    try {
      this.#finish(outcome, answer);
    } catch (error) {
      this.tellFault(error);
    }
  }

  /** Metering only looks: its faults are told and go no further. */
  readonly tellFault = (error: unknown): void => {
    const { requestId } = this.#request.money;
    this.#parts.logger.error({ err: error, requestId }, 'an answer could not be metered; its bytes pass all the same');
  };

  #finish(outcome: Exclude<Outcome, 'recovered'>, answer: EndedAnswer): void {
    const { money, maxTokens, mayRunFast, observed } = this.#request;
    const { meter, deployment } = answer;
    const seen = meter?.usage ?? null;
    if (isPriorityUnasked(seen, mayRunFast)) this.#parts.accounting.gavePriorityUnasked();
    if (seen !== null && seen.malformed.length > 0)
      this.#parts.logger.error(
        { requestId: money.requestId, malformed: seen.malformed },
        'an upstream reported usage that cannot be read',
      );
    const ended: EndedRequest = {
      outcome,
      upstream: {
        provider: deployment.upstream.name,
        model: deployment.model,
        requestId: answer.upstreamRequestId ?? meter?.messageId ?? null,
      },
      seen,
      isFinal: meter?.isFinal ?? false,
      maxTokens,
      estimateInput: () => estimateInput(this.#request),
      card: money.card,
      hold: money.started.hold ?? null,
      mayRunFast,
      chargeInterrupted: answer.isWithheld ? 'none' : this.#parts.chargeInterrupted,
      nowMs: this.#parts.accounting.nowOf(money),
    };
    const ending = this.#endingOf(ended);
    this.#request.ticket.metered(atMostAsked(ending.tokens, this.#request));
    if (isEstimate(ending))
      this.#parts.logger.warn(
        { requestId: money.requestId, outcome },
        'usage is estimated: the upstream did not report it',
      );
    const cost = this.#parts.accounting.finish(money, ending);
    this.#isUnbilled = cost === null;
    if (observed === null) return;
    observed.ending = ending;
    observed.cost = cost;
  }

  /** An ending that cannot be judged is one of which nothing is known but how it came. */
  #endingOf(ended: EndedRequest): Ending {
    try {
      return endingOf(ended);
    } catch (error) {
      this.tellFault(error);
      return endingOf({ ...ended, seen: null, isFinal: false, estimateInput: () => NO_TOKENS });
    }
  }
}

/** A report that cannot be is an exception of the ledger's: it must not keep its caller out, who asked for no such thing. */
const atMostAsked = (tokens: TokenCounts, { maxTokens, terms: { contextWindow } }: ForwardedRequest): TokenCounts => ({
  ...tokens,
  input: Math.min(tokens.input, contextWindow),
  cacheWrite5m: Math.min(tokens.cacheWrite5m, contextWindow),
  cacheWrite1h: Math.min(tokens.cacheWrite1h, contextWindow),
  output: Math.min(tokens.output, maxTokens),
});
