import type { Refusal } from '../../contracts/errors.ts';
import type { Outcome } from '../../contracts/events.ts';
import { LIMITS } from '../../contracts/limits.ts';
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
import { AccountedOnce } from './accounted-once.ts';
import type { ClientAnswer } from './client-answer.ts';
import { HeldBack } from './held-back.ts';
import { isEventStream } from './media-type.ts';
import { RefusedBody } from './refused-body.ts';
import type { RelayParts } from './relay-parts.ts';
import type { RelayedRequest } from './relayed-request.ts';
import { UpstreamAttempt } from './upstream-attempt.ts';
import {
  isGatewaysFault,
  isPassedOn,
  refusalForFailure,
  refusalForStatus,
  UNREADABLE,
  worthTelling,
} from './upstream-refusal.ts';
import { WholeAnswer } from './whole-answer.ts';

const TOO_LONG = { error: `the answer is longer than ${LIMITS.answerBytesMax} bytes` };

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
  /** Of an answer that is no stream, until it goes out. */
  #whole: WholeAnswer | null = null;
  /** Of all deployments that have failed. */
  #told: Refusal | null = null;
  /** Of a head that is passed on. */
  #refused: RefusedBody | null = null;
  /** Some upstream may have seen the request. */
  #hasReached = false;
  /** The upstream of this attempt may have seen it. */
  #isSent = false;
  readonly #heldBack: HeldBack;
  #isClientGone = false;
  readonly #accounted: AccountedOnce;
  #stopDrain: (() => void) | null = null;

  constructor(request: RelayedRequest, client: ClientAnswer, parts: RelayParts, onEnded: () => void) {
    this.#request = request;
    this.#client = client;
    this.#parts = parts;
    this.#onEnded = onEnded;
    this.#heldBack = new HeldBack(parts.clientStallMs, parts.monotonic);
    this.#accounted = new AccountedOnce(request, parts);
    this.#attempt = new UpstreamAttempt(this, request, 0);
  }

  start(): void {
    this.#attempt.send();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    // The connection has been waited for, or an earlier place of the model: meanwhile the key may have been revoked, or the
    // account suspended. Nothing has been written yet, and nothing is.
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
    else if (this.#whole !== null) this.#attemptFailed(UNREADABLE, { error: 'the answer is no whole Message' });
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
    else if (this.#whole !== null) this.#attemptFailed(refusalForFailure(error.kind), { error: error.message });
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
    this.#whole = null;
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
    else if (this.#heldBack.isForLongLately) this.#dropClient();
    else this.#breakOff('the gateway is shutting down');
    this.#control?.abort();
  }

  get #deployment(): Deployment {
    return this.#attempt.deployment;
  }

  #beginRelaying(headers: UpstreamHeaders): void {
    if (isEncoded(headers)) {
      // Only what can be read can be metered; it was asked for unencoded.
      this.#attemptFailed(UNREADABLE, {
        contentEncoding: headers.contentEncoding,
      });
      return;
    }
    const { words } = this.#deployment.upstream;
    const isStream = isEventStream(headers.contentType, this.#request.isStream);
    this.#phase = 'relaying';
    this.#meter = new GuardedMeter(
      isStream ? createStreamMeter(words) : createAnswerMeter(headers.contentLength, words),
      this.#accounted.tellFault,
    );
    if (this.#isClientGone) return;
    if (isStream) this.#client.begin(headers, true);
    else this.#whole = new WholeAnswer(headers, this.#request.room);
    if (this.#whole?.isTooLong === true) this.#attemptFailed(UNREADABLE, TOO_LONG);
  }

  #keep(bytes: Buffer, whole: WholeAnswer): void {
    const hasRoom = whole.add(bytes);
    if (whole.isTooLong) this.#attemptFailed(UNREADABLE, TOO_LONG);
    else if (!hasRoom) this.#passWhole(whole);
  }

  /** What there is of it; where that is not all, the rest goes out as it comes. */
  #passWhole(whole: WholeAnswer): void {
    this.#whole = null;
    this.#client.begin(whole.headers, false);
    for (const piece of whole.take()) this.#write(piece);
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
    if (this.#accounted.isUnbilled) this.#cutUnbilled();
    if (this.#isClientGone || this.#phase === 'ended') return;
    if (this.#whole === null) this.#write(bytes);
    else this.#keep(bytes, this.#whole);
  }

  #write(bytes: Buffer): void {
    // Of a call that is over nothing more is to be held back.
    if (this.#client.write(bytes) || this.#heldBack.isNow || this.#phase === 'ended') return;
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
    this.#told = worthTelling(this.#told, refused);
    const next = this.#attempt.index + 1;
    const hasNext = next < this.#request.deployments.length && !this.#isClientGone;
    if (hasNext) {
      this.#phase = 'waiting';
      this.#isSent = false;
      this.#upstreamRequestId = null;
      this.#meter = null;
      this.#whole = null;
      this.#attempt = new UpstreamAttempt(this, this.#request, next);
      this.#attempt.send();
      return;
    }
    this.#refuse(this.#told);
  }

  #refuse(refused: Refusal): void {
    if (this.#meter !== null) this.#account('upstream_interrupted');
    else if (this.#hasReached) this.#account('upstream_refused');
    else this.#accounted.abandon();
    if (!this.#isClientGone) this.#client.refuse(refused);
    this.#finish();
  }

  #breakOff(message: string): void {
    if (this.#phase === 'waiting' && !this.#hasReached) this.#accounted.abandon();
    else this.#account('upstream_interrupted');
    if (!this.#isClientGone) this.#client.cut(message, this.#isAtBoundary());
    this.#finish();
  }

  /** What a client gets as complete is billed, and this cannot be. Where its bytes stand is not known: the last are kept back. */
  #cutUnbilled(): void {
    if (this.#phase === 'ended') return;
    this.#client.cut('the gateway could not take down the end of the answer', false);
    this.#control?.abort();
    this.#finish();
  }

  /** Past the bound of a drain, or where the provider's calls are cancelled: what was sent and seen is charged. */
  #endAbandoned(): void {
    this.#meter?.end();
    if (this.#isSent) this.#account(this.#outcome());
    else if (this.#hasReached) this.#account('upstream_refused');
    else this.#accounted.abandon();
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
    const { accountId } = this.#request.accounted;
    const isDrained = this.#deployment.upstream.onClientDisconnect === 'drain';
    const stop = isDrained ? this.#parts.drains.begin(accountId, () => this.#abort()) : null;
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

  #account(outcome: Exclude<Outcome, 'recovered'>): void {
    this.#accounted.finish(outcome, {
      deployment: this.#deployment,
      upstreamRequestId: this.#upstreamRequestId,
      meter: this.#meter,
      isWithheld: this.#whole !== null,
    });
  }

  /** The upstream has ended the answer, and the client's ends as it did. */
  #conclude(): void {
    this.#account(this.#outcome());
    if (this.#accounted.isUnbilled) {
      this.#cutUnbilled();
      return;
    }
    this.#phase = 'ended';
    if (this.#whole !== null) this.#passWhole(this.#whole);
    this.#endDurably();
  }

  /** The end of a stream waits until the request's usage is on disk; its bytes have not waited. */
  #endDurably(): void {
    if (this.#client.isLengthKnown) this.#end();
    else void this.#parts.accounting.durable().then(() => this.#end());
  }

  #end(): void {
    if (!this.#isClientGone) this.#client.end();
    this.#finish();
  }

  #finish(): void {
    this.#phase = 'ended';
    this.#whole = null;
    this.#attempt.leave();
    this.#stopDrain?.();
    this.#stopDrain = null;
    this.#request.ticket.end();
    this.#onEnded();
  }
}
