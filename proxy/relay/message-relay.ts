import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { Outcome } from '../../contracts/events.ts';
import { NO_TOKENS } from '../../contracts/usage.ts';
import type { Ending } from '../../ledger/settlement/request-record.ts';
import { createAnswerMeter } from '../meter/answer-meter.ts';
import { GuardedMeter } from '../meter/guarded-meter.ts';
import { createStreamMeter } from '../meter/stream-meter.ts';
import {
  isEncoded,
  isOverTime,
  type UpstreamControl,
  type UpstreamError,
  type UpstreamErrorKind,
  type UpstreamHeaders,
} from '../upstream/upstream.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { ClientAnswer } from './client-answer.ts';
import { type EndedRequest, endingOf, isPriorityUnasked } from './ending.ts';
import { HeldBack } from './held-back.ts';
import { estimateInput } from './input-estimate.ts';
import { isEventStream } from './media-type.ts';
import { RefusedBody } from './refused-body.ts';
import type { RelayParts } from './relay-parts.ts';
import type { RelayedRequest } from './relayed-request.ts';
import { UpstreamAttempt } from './upstream-attempt.ts';
import { isGatewaysFault, isPassedOn, refusalForFailure, refusalForStatus } from './upstream-refusal.ts';

/**
 *            ┌── next deployment ◀─┐
 *   waiting ─┴─▶ head 200 ─▶ relaying ─▶ ended
 *      │                        │
 *      └─▶ head 4xx ─▶ passing  └─▶ (client left) draining ─▶ ended
 */
type Phase = 'waiting' | 'relaying' | 'passing' | 'ended';

/**
 * Takes one admitted request to its upstream and the answer's bytes back to the client, with the meter looking on.
 * Whatever way it ends, it is accounted for exactly once.
 */
export class MessageRelay {
  readonly #request: RelayedRequest;
  readonly #client: ClientAnswer;
  readonly #parts: RelayParts;
  readonly #onEnded: () => void;
  #phase: Phase = 'waiting';
  #attempt: UpstreamAttempt;
  #control: UpstreamControl | null = null;
  #meter: GuardedMeter | null = null;
  #upstreamRequestId: string | null = null;
  #pieces: Buffer[] = [];
  /** Of a head that is passed on. */
  #refused: RefusedBody | null = null;
  /** Some upstream may have seen the request. */
  #hasReached = false;
  /** The upstream of this attempt may have seen it. */
  #isSent = false;
  readonly #heldBack: HeldBack;
  #isClientGone = false;
  #isAccounted = false;
  #stopDrain: (() => void) | null = null;

  constructor(request: RelayedRequest, client: ClientAnswer, parts: RelayParts, onEnded: () => void) {
    this.#request = request;
    this.#client = client;
    this.#parts = parts;
    this.#onEnded = onEnded;
    this.#heldBack = new HeldBack(parts.clientStallMs, parts.monotonic);
    this.#attempt = new UpstreamAttempt(this, request, 0);
  }

  start(): void {
    this.#attempt.send();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    // The connection has been waited for. Nothing has been written to it yet, and nothing is.
    const refusedNow = this.#request.refuseByStanding();
    if (refusedNow !== null) {
      this.#refuse(refusedNow);
      return;
    }
    this.#hasReached = true;
    this.#isSent = true;
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#upstreamRequestId = headers.requestId;
    if (status === 200) this.#beginRelaying(headers);
    else if (isPassedOn(status)) this.#beginPassing(status, headers);
    else this.#attemptFailed(refusalForStatus(status, headers.retryAfterS), { status });
  }

  /** Pieces of one turn of the event loop are passed on together: an upstream's chunks need not each cost a write. */
  onData(piece: Buffer): void {
    this.#pieces.push(piece);
    if (this.#pieces.length === 1) queueMicrotask(() => this.#passPieces());
  }

  onEnd(): void {
    this.#passPieces();
    if (this.#phase === 'passing') this.#passRefusal();
    if (this.#phase !== 'relaying' || this.#meter === null) return;
    this.#meter.end();
    // Its own error event has said it; only one that the client can read, with its blank line, ends the answer.
    const isWhole = this.#meter.complete || this.#meter.isFaulty;
    if (isWhole || (this.#hasErrorEvent() && this.#isAtBoundary())) this.#conclude();
    else this.#breakOff('the upstream ended the answer before it was complete');
  }

  onError(error: UpstreamError): void {
    this.#passPieces();
    if (this.#phase === 'ended') return;
    if (this.#phase === 'waiting' && this.#isClientGone && isOverTime(error.kind)) {
      this.#endAbandoned();
      return;
    }
    if (this.#phase === 'waiting') {
      this.#attemptFailed(refusalForFailure(error.kind), { error: error.message });
      return;
    }
    this.#meter?.end();
    if (this.#refused !== null) this.#refuse(refusalForFailure(error.kind));
    else if (this.#meter?.complete === true) this.#conclude();
    else if (this.#isClients(error.kind)) this.#dropClient();
    else this.#breakOff(`the upstream broke off: ${error.kind}`);
  }

  /** Whether an answer that broke off did so because its client had left, or held it back. */
  #isClients(kind: UpstreamErrorKind): boolean {
    if (this.#isClientGone) return kind === 'overdue';
    const { isNow, isForLong, isForLongLately } = this.#heldBack;
    return isNow || (kind === 'overdue' ? isForLong : isForLongLately);
  }

  /** The client's connection is gone before its answer was complete. */
  clientLeft(): void {
    if (this.#phase === 'ended' || this.#isClientGone) return;
    this.#isClientGone = true;
    this.#leaveUpstream();
  }

  /** The gateway stops: what has not ended by now is cut. */
  cut(): void {
    if (this.#phase === 'ended') return;
    if (this.#isClientGone) {
      this.#abort();
      return;
    }
    this.#passPieces();
    this.#meter?.end();
    if (this.#meter?.complete === true) this.#conclude();
    else if (this.#phase === 'relaying' && this.#heldBack.isForLongLately) this.#dropClient();
    else this.#breakOff('the gateway is shutting down');
    this.#control?.abort();
  }

  get #deployment(): Deployment {
    return this.#attempt.deployment;
  }

  #beginRelaying(headers: UpstreamHeaders): void {
    if (isEncoded(headers)) {
      // Only what can be read can be metered; it was asked for unencoded.
      this.#attemptFailed(refusal('upstream_failed', 'the model did not answer; try again'), {
        contentEncoding: headers.contentEncoding,
      });
      return;
    }
    const { words } = this.#deployment.upstream;
    const isStream = isEventStream(headers.contentType, this.#request.isStream);
    this.#phase = 'relaying';
    this.#meter = new GuardedMeter(
      isStream ? createStreamMeter(words) : createAnswerMeter(headers.contentLength, words),
      this.#tellFault,
    );
    if (!this.#isClientGone) this.#client.begin(headers, isStream);
  }

  #beginPassing(status: number, headers: UpstreamHeaders): void {
    this.#phase = 'passing';
    this.#refused = new RefusedBody(status, headers);
    this.#account('upstream_refused');
  }

  #passRefusal(): void {
    if (this.#refused !== null) this.#refuse(this.#refused.end(this.#deployment.upstream.words));
  }

  #passPieces(): void {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    if (this.#phase !== 'relaying' && this.#refused === null) return;
    const [first] = pieces;
    const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    if (this.#refused !== null) {
      this.#refused.add(bytes);
      if (this.#refused.isTooLong) this.#passRefusal();
      return;
    }
    this.#meter?.push(bytes);
    // What a complete answer costs is in the journal before its last bytes go out. An answer that the client gets as an
    // error costs nothing, though the client leaves when it reads that.
    if (this.#meter?.complete === true || this.#hasErrorEvent()) this.#account(this.#outcome());
    if (this.#isClientGone) return;
    if (this.#client.write(bytes) || this.#heldBack.isNow) return;
    this.#control?.pause();
    this.#heldBack.begin();
    this.#client.onceDrained(() => {
      this.#heldBack.end();
      this.#control?.resume();
    });
  }

  /** Of an answer that is complete, ended by the upstream's error event, or left by its client. */
  #outcome(): 'completed' | 'client_disconnected' | 'upstream_interrupted' {
    if (this.#hasErrorEvent()) return 'upstream_interrupted';
    return this.#isClientGone ? 'client_disconnected' : 'completed';
  }

  #hasErrorEvent(): boolean {
    return this.#meter !== null && this.#meter.errorEvent !== null;
  }

  #isAtBoundary(): boolean {
    return this.#meter?.atBoundary ?? true;
  }

  #attemptFailed(refused: Refusal, cause: { readonly [name: string]: unknown }): void {
    const { provider, status } = { provider: this.#deployment.upstream.name, status: cause.status };
    const { requestId } = this.#request.accounted;
    const level = typeof status === 'number' && isGatewaysFault(status) ? 'error' : 'warn';
    this.#parts.logger[level]({ requestId, provider, ...cause }, 'an upstream did not answer');
    this.#attempt.leave();
    this.#control = null;
    const next = this.#attempt.index + 1;
    const hasNext = next < this.#request.deployments.length && !this.#isClientGone;
    // The upstream has been waited for: meanwhile the key may have been revoked, or the account suspended.
    const refusedNow = hasNext ? this.#request.refuseByStanding() : null;
    if (hasNext && refusedNow === null) {
      this.#isSent = false;
      this.#upstreamRequestId = null;
      this.#attempt = new UpstreamAttempt(this, this.#request, next);
      this.#attempt.send();
      return;
    }
    this.#refuse(refusedNow ?? refused);
  }

  #refuse(refused: Refusal): void {
    if (this.#hasReached) this.#account('upstream_refused');
    else this.#abandon();
    if (!this.#isClientGone) this.#client.refuse(refused);
    this.#finish();
  }

  #breakOff(message: string): void {
    if (this.#phase === 'waiting' && !this.#hasReached) this.#abandon();
    else this.#account('upstream_interrupted');
    if (!this.#isClientGone) this.#client.cut(message, this.#isAtBoundary());
    this.#finish();
  }

  /** Past the bound of a drain, or where the provider's calls are cancelled: what was sent and seen is charged. */
  #endAbandoned(): void {
    this.#meter?.end();
    if (this.#isSent) this.#account(this.#outcome());
    else if (this.#hasReached) this.#account('upstream_refused');
    else this.#abandon();
    this.#finish();
  }

  /** The client has not gone, but it did not take its answer: that is as good as leaving. */
  #dropClient(): void {
    this.#isClientGone = true;
    this.#client.drop();
    this.#endAbandoned();
  }

  #leaveUpstream(): void {
    if (this.#control === null) {
      // It still waits for a connection, which may take as long as the answers of others.
      this.#endAbandoned();
      return;
    }
    const { upstream } = this.#deployment;
    const stop = upstream.onClientDisconnect === 'drain' ? this.#parts.drains.begin(() => this.#abort()) : null;
    if (stop === null) this.#abort();
    else {
      this.#stopDrain = stop;
      this.#control.resume();
    }
  }

  #abort(): void {
    if (this.#phase === 'ended') return;
    this.#passPieces();
    this.#endAbandoned();
    this.#control?.abort();
  }

  #abandon(): void {
    if (this.#isAccounted) return;
    this.#isAccounted = true;
    this.#request.ticket.metered(NO_TOKENS);
    this.#parts.accounting.abandon(this.#request.accounted);
  }

  /** No fault of the money side reaches the answer's bytes; a request that it leaves open is recovered at the start. */
  #account(outcome: Exclude<Outcome, 'recovered'>): void {
    if (this.#isAccounted) return;
    this.#isAccounted = true;
    try {
      this.#accountFor(outcome);
    } catch (error) {
      this.#tellFault(error);
    }
  }

  #accountFor(outcome: Exclude<Outcome, 'recovered'>): void {
    const { accounted, maxTokens, mayRunFast } = this.#request;
    const seen = this.#meter?.usage ?? null;
    if (isPriorityUnasked(seen, mayRunFast)) this.#parts.accounting.gavePriorityUnasked();
    if (seen !== null && seen.malformed.length > 0)
      this.#parts.logger.error(
        { requestId: accounted.requestId, malformed: seen.malformed },
        'an upstream reported usage that cannot be read',
      );
    const ended: EndedRequest = {
      outcome,
      upstream: {
        provider: this.#deployment.upstream.name,
        model: this.#deployment.model,
        requestId: this.#upstreamRequestId ?? this.#meter?.messageId ?? null,
      },
      seen,
      isFinal: this.#meter?.isFinal ?? false,
      maxTokens,
      estimateInput: () => estimateInput(this.#request),
      card: accounted.card,
      hold: accounted.started.hold ?? null,
      mayRunFast,
      chargeInterrupted: this.#parts.chargeInterrupted,
      nowMs: this.#parts.accounting.nowOf(accounted),
    };
    const ending = this.#endingOf(ended);
    this.#request.ticket.metered(ending.tokens);
    if (ending.source === 'estimated')
      this.#parts.logger.warn(
        { requestId: accounted.requestId, outcome },
        'usage is estimated: the upstream did not report it',
      );
    this.#parts.accounting.finish(accounted, ending);
  }

  /** An ending that cannot be judged is one of which nothing is known but how it came. */
  #endingOf(ended: EndedRequest): Ending {
    try {
      return endingOf(ended);
    } catch (error) {
      this.#tellFault(error);
      return endingOf({ ...ended, seen: null, isFinal: false, estimateInput: () => NO_TOKENS });
    }
  }

  /** Metering only looks: its faults are told and go no further. */
  readonly #tellFault = (error: unknown): void => {
    const { requestId } = this.#request.accounted;
    this.#parts.logger.error({ err: error, requestId }, 'an answer could not be metered; its bytes pass all the same');
  };

  /** The upstream has ended the answer, and the client's ends as it did. */
  #conclude(): void {
    this.#account(this.#outcome());
    this.#endDurably();
  }

  /** The end of a stream waits until the request's usage is on disk; its bytes have not waited. */
  #endDurably(): void {
    this.#phase = 'ended';
    if (this.#client.isLengthKnown) this.#end();
    else void this.#parts.accounting.durable().then(() => this.#end());
  }

  #end(): void {
    if (!this.#isClientGone) this.#client.end();
    this.#finish();
  }

  #finish(): void {
    this.#phase = 'ended';
    this.#attempt.leave();
    this.#stopDrain?.();
    this.#stopDrain = null;
    this.#request.ticket.end();
    this.#onEnded();
  }
}
