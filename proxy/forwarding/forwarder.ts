import type { Refusal } from '../../contracts/errors.ts';
import type { Outcome } from '../../contracts/events.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { AnswerMeter } from '../meter/answer-meter.ts';
import { GuardedMeter } from '../meter/guarded-meter.ts';
import { StreamMeter } from '../meter/stream-meter.ts';
import { isOverTime, type UpstreamError, type UpstreamErrorKind, type UpstreamHeaders } from '../upstream/upstream.ts';
import { AccountedOnce } from './accounted-once.ts';
import { BackPressure } from './back-pressure.ts';
import type { ClientAnswer } from './client-answer.ts';
import { Failover } from './failover.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import type { ForwardingParts } from './forwarding-parts.ts';
import { RefusedBody } from './refused-body.ts';
import { unreadableBy } from './unreadable-head.ts';
import { type AttemptReceiver, UpstreamAttempt } from './upstream-attempt.ts';
import { isPassedOn, refusalForFailure, refusalForStatus, UNREADABLE } from './upstream-refusal.ts';
import { WholeAnswer } from './whole-answer.ts';

/** What it said is not known, and that it said something is. */
const UNREAD = 'an upstream answered what cannot be read';
const NOT_SERVED = 'an upstream answered with another status than 200';
const TOO_LONG = { error: `the answer is longer than ${LIMITS.answerBytesMax} bytes` };

/**
 *            ┌── next deployment ◀─┐
 *   waiting ─┴─▶ head 200 ─▶ forwarding ─▶ ended
 *      │ │                      │
 *      │ └─▶ head 4xx ─▶ passing ─▶ ended
 *      └──────▶ (client left) draining ─▶ ended
 */
type Phase =
  /** For the head of this attempt's answer. */
  | { readonly type: 'waiting' }
  /** The answer's bytes go to the client, or are kept in `whole` until they are known to be readable. */
  | { readonly type: 'forwarding'; readonly meter: GuardedMeter; whole: WholeAnswer | null }
  /** The upstream has refused the request; the client is told once it has said why. */
  | { readonly type: 'passing'; readonly refused: RefusedBody }
  /** The client has left. What still comes is read for its usage alone; no meter before a head with status 200. */
  | { readonly type: 'draining'; meter: GuardedMeter | null; readonly stop: () => void }
  | { readonly type: 'ended' };

/** One admitted request to its upstream and the answer's bytes back, metered; accounted for exactly once. */
export class Forwarder implements AttemptReceiver {
  readonly #request: ForwardedRequest;
  readonly #client: ClientAnswer;
  readonly #parts: ForwardingParts;
  readonly #onEnded: () => void;
  readonly #failover: Failover;
  readonly #backPressure: BackPressure;
  readonly #accounted: AccountedOnce;
  #phase: Phase = { type: 'waiting' };
  #attempt: UpstreamAttempt;
  #pieces: Buffer[] = [];
  /** Some upstream may have seen the request. */
  #hasReached = false;

  constructor(request: ForwardedRequest, client: ClientAnswer, parts: ForwardingParts, onEnded: () => void) {
    this.#request = request;
    this.#client = client;
    this.#parts = parts;
    this.#onEnded = onEnded;
    this.#backPressure = new BackPressure(parts.clientStallMs, parts.monotonic);
    this.#accounted = new AccountedOnce(request, parts);
    const { requestId } = request.money;
    const told = { requestId, failedAs: 'an upstream did not answer', logger: parts.logger };
    this.#failover = new Failover(request.deployments, told);
    this.#attempt = new UpstreamAttempt(this, request, this.#failover.deployment, parts.intake);
  }

  start(): void {
    this.#attempt.send();
  }

  /**
   * The connection has been waited for, or an earlier place of the model: meanwhile the key may have been revoked, or the
   * account suspended. Nothing has been written yet, and nothing is.
   */
  onStart(): void {
    const refusedNow = this.#request.refuseByStanding();
    if (refusedNow !== null) {
      this.#refuse(refusedNow);
      return;
    }
    this.#hasReached = true;
    this.#attempt.isSent = true;
    const { observed } = this.#request;
    if (observed !== null && observed.calledMs === 0) observed.calledMs = this.#parts.monotonic();
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (status === 200) this.#beginAnswer(headers);
    else if (isPassedOn(status)) this.#beginPassing(status, headers);
    else this.#attemptFailed(refusalForStatus(status, headers.retryAfterS), { status });
  }

  /** Pieces of one turn of the event loop are passed on together: an upstream's chunks need not each cost a write. */
  onData(piece: Buffer): void {
    this.#pieces.push(piece);
    if (this.#pieces.length > 1) return;
    queueMicrotask(() => this.#passPieces());
    const { observed } = this.#request;
    if (observed !== null && observed.firstByteMs === 0) observed.answeredMs = this.#parts.monotonic();
  }

  onEnd(): void {
    this.#passPieces();
    const phase = this.#phase;
    if (phase.type === 'passing') this.#passRefusal(phase.refused);
    const meter = this.#meter;
    if (meter === null) return;
    meter.end();
    // Its own error event has said it; only one that the client can read, with its blank line, ends the answer.
    const isWhole = meter.complete || meter.isFaulty;
    if (isWhole || (meter.errorEvent !== null && meter.atBoundary)) this.#conclude();
    else if (this.#whole !== null) this.#attemptFailed(UNREADABLE, { error: 'the answer is no whole Message' });
    else this.#breakOff('the upstream ended the answer before it was complete');
  }

  onError({ kind, message }: UpstreamError): void {
    const attempt = this.#attempt;
    this.#passPieces();
    // By its last bytes it has failed already, and the next deployment is asked.
    if (this.#attempt !== attempt) return;
    const phase = this.#phase;
    this.#meter?.end();
    if (phase.type === 'ended') return;
    if (phase.type === 'passing') this.#refuse(refusalForFailure(kind));
    else if (this.#meter?.complete === true) this.#conclude();
    else if (phase.type === 'draining' && isClients(phase, kind)) this.#endWithoutClient();
    else if (this.#meter === null || this.#whole !== null)
      this.#attemptFailed(refusalForFailure(kind), { error: message });
    else if (phase.type === 'forwarding' && this.#isByBackPressure(kind)) this.#dropClient();
    else this.#breakOff(`the upstream broke off: ${kind}`);
  }

  /** Whether an answer that broke off did so because its client held it back. */
  #isByBackPressure(kind: UpstreamErrorKind): boolean {
    const { isNow, isForLong, isForLongLately } = this.#backPressure;
    return isNow || (kind === 'overdue' ? isForLong : isForLongLately);
  }

  /** The client's connection is gone before its answer was complete. */
  clientLeft(): void {
    const { type } = this.#phase;
    if (type === 'ended' || type === 'draining') return;
    const { accountId } = this.#request.money;
    const isDrained = type !== 'passing' && this.#attempt.deployment.upstream.onClientDisconnect === 'drain';
    // What still waits for a connection may do so as long as the answers of others take.
    const stop =
      isDrained && this.#attempt.hasStarted ? this.#parts.drains.begin(accountId, () => this.#stopReading()) : null;
    this.#clientGone(stop);
    if (stop === null) this.#stopReading();
    else this.#attempt.resume();
  }

  /** The gateway stops: what has not ended by now is cut. */
  cut(): void {
    if (this.#hasEnded) return;
    if (this.#phase.type === 'draining') {
      this.#stopReading();
      return;
    }
    this.#passPieces();
    if (this.#hasEnded) return;
    this.#meter?.end();
    if (this.#meter?.complete === true) this.#conclude();
    else if (this.#backPressure.isForLongLately) this.#dropClient();
    else this.#breakOff('the gateway is shutting down');
    this.#attempt.abort();
  }

  get #hasEnded(): boolean {
    return this.#phase.type === 'ended';
  }

  get #meter(): GuardedMeter | null {
    return 'meter' in this.#phase ? this.#phase.meter : null;
  }

  /** Of an answer that is no stream, until it goes out. */
  get #whole(): WholeAnswer | null {
    return 'whole' in this.#phase ? this.#phase.whole : null;
  }

  #beginAnswer(headers: UpstreamHeaders): void {
    const { isStream } = this.#request;
    const unreadable = unreadableBy(headers, isStream);
    if (unreadable !== null) {
      this.#attemptFailed(UNREADABLE, unreadable);
      return;
    }
    const { words } = this.#attempt.deployment.upstream;
    const meter = new GuardedMeter(
      isStream ? new StreamMeter(words) : new AnswerMeter(headers.contentLength, words),
      this.#accounted.tellFault,
    );
    if (this.#phase.type === 'draining') {
      this.#phase.meter = meter;
      return;
    }
    const whole = isStream ? null : new WholeAnswer(headers, this.#request.room);
    this.#phase = { type: 'forwarding', meter, whole };
    if (isStream) this.#client.begin(headers, true);
    if (whole?.isTooLong === true) this.#attemptFailed(UNREADABLE, TOO_LONG);
  }

  #beginPassing(status: number, headers: UpstreamHeaders): void {
    this.#account('upstream_refused');
    if (this.#phase.type === 'draining') this.#finish();
    else this.#phase = { type: 'passing', refused: new RefusedBody(status, headers) };
  }

  #passRefusal(refused: RefusedBody): void {
    this.#refuse(refused.end(this.#attempt.deployment.upstream.words));
  }

  #passPieces(): void {
    const pieces = this.#pieces;
    if (pieces.length === 0) return;
    this.#pieces = [];
    const phase = this.#phase;
    const [first] = pieces;
    const bytes = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    if (phase.type === 'passing') {
      phase.refused.add(bytes);
      if (phase.refused.isTooLong) this.#passRefusal(phase.refused);
      return;
    }
    const meter = this.#meter;
    if (meter === null) return;
    meter.push(bytes);
    // What a complete answer costs is in the journal before its last bytes go out. An answer that the client gets as an
    // error costs nothing, though the client leaves when it reads that.
    if (meter.complete || meter.errorEvent !== null) this.#account(this.#outcome(meter));
    if (this.#accounted.isUnbilled) this.#cutUnbilled();
    if (this.#phase.type !== 'forwarding') return;
    if (this.#phase.whole === null) this.#write(bytes);
    else this.#keep(bytes, this.#phase.whole);
  }

  #keep(bytes: Buffer, whole: WholeAnswer): void {
    const hasRoom = whole.add(bytes);
    if (whole.isTooLong) this.#attemptFailed(UNREADABLE, TOO_LONG);
    else if (!hasRoom) this.#passWhole(whole);
  }

  /** What there is of it; where that is not all, the rest goes out as it comes. */
  #passWhole(whole: WholeAnswer, isAll = false): void {
    if (this.#phase.type === 'forwarding') this.#phase.whole = null;
    this.#client.begin(whole.headers, false);
    const pieces = whole.take();
    for (const piece of pieces) this.#write(piece, isAll && piece === pieces.at(-1));
  }

  #write(bytes: Buffer, isLast = false): void {
    const { observed } = this.#request;
    if (observed !== null && observed.firstByteMs === 0) observed.firstByteMs = this.#parts.monotonic();
    // Of a call that is over nothing more is to be held back.
    if (this.#client.write(bytes, isLast) || this.#backPressure.isNow || this.#phase.type === 'ended') return;
    this.#attempt.pause();
    this.#backPressure.begin();
    this.#client.onceDrained(() => {
      this.#backPressure.end();
      this.#attempt.resume();
    });
  }

  /** Of an answer that is complete, ended by the upstream's error event, or left by its client. */
  #outcome(meter: GuardedMeter | null): 'completed' | 'client_disconnected' | 'upstream_interrupted' {
    if (meter !== null && meter.errorEvent !== null) return 'upstream_interrupted';
    return this.#phase.type === 'draining' ? 'client_disconnected' : 'completed';
  }

  #attemptFailed(refused: Refusal, cause: { readonly status?: number; readonly [name: string]: unknown }): void {
    const told = this.#failover.worthTelling(refused);
    const answeredAs = cause.status === undefined ? undefined : NOT_SERVED;
    const hasNext = this.#failover.failed(cause, refused === UNREADABLE ? UNREAD : answeredAs);
    this.#attempt.leave();
    if (!hasNext || this.#phase.type === 'draining') {
      this.#refuse(told);
      return;
    }
    this.#phase = { type: 'waiting' };
    this.#attempt = new UpstreamAttempt(this, this.#request, this.#failover.deployment, this.#parts.intake);
    this.#attempt.send();
  }

  #refuse(refused: Refusal): void {
    if (this.#meter !== null) this.#account('upstream_interrupted');
    else this.#accountUnanswered();
    if (this.#phase.type !== 'draining') this.#client.refuse(refused);
    this.#finish();
  }

  #breakOff(message: string): void {
    if (this.#phase.type === 'waiting' && !this.#hasReached) this.#accounted.abandon();
    else this.#account('upstream_interrupted');
    if (this.#phase.type !== 'draining') this.#client.cut(message);
    this.#finish();
  }

  /** What a client gets as complete is billed, and this cannot be: its last bytes are kept back. */
  #cutUnbilled(): void {
    if (this.#hasEnded) return;
    this.#client.cut('the gateway could not take down the end of the answer');
    this.#finish();
  }

  /** From here on what still comes is for the meter alone. `stop` gives the place among the drains back. */
  #clientGone(stop: (() => void) | null): void {
    this.#phase = { type: 'draining', meter: this.#meter, stop: stop ?? (() => undefined) };
  }

  /** The client has not gone, but it did not take its answer: that is as good as leaving. */
  #dropClient(): void {
    this.#clientGone(null);
    this.#client.drop();
    this.#endWithoutClient();
  }

  #stopReading(): void {
    this.#passPieces();
    if (!this.#hasEnded) this.#endWithoutClient();
  }

  /** Past the bound of a drain, or where the provider's calls are cancelled: what was sent and seen is charged. */
  #endWithoutClient(): void {
    this.#meter?.end();
    if (this.#attempt.isSent) this.#account(this.#outcome(this.#meter));
    else this.#accountUnanswered();
    this.#finish();
  }

  #accountUnanswered(): void {
    if (this.#hasReached) this.#account('upstream_refused');
    else this.#accounted.abandon();
  }

  #account(outcome: Exclude<Outcome, 'recovered'>): void {
    this.#accounted.finish(outcome, {
      deployment: this.#attempt.deployment,
      upstreamRequestId: this.#attempt.upstreamRequestId,
      meter: this.#meter,
      isWithheld: this.#whole !== null,
    });
  }

  /** The upstream has ended the answer, and the client's ends as it did. */
  #conclude(): void {
    this.#account(this.#outcome(this.#meter));
    if (this.#accounted.isUnbilled) {
      this.#cutUnbilled();
      return;
    }
    const whole = this.#whole;
    const isClientHere = this.#phase.type !== 'draining';
    this.#leaveDrains();
    this.#phase = { type: 'ended' };
    if (whole !== null) this.#passWhole(whole, true);
    // The end of a stream waits until the request's usage is on disk; its bytes have not waited.
    if (this.#client.isLengthKnown) this.#end(isClientHere);
    else void this.#parts.accounting.durable().then(() => this.#end(isClientHere));
  }

  #end(isClientHere: boolean): void {
    if (isClientHere) this.#client.end();
    this.#finish();
  }

  #leaveDrains(): void {
    if (this.#phase.type === 'draining') this.#phase.stop();
  }

  #finish(): void {
    this.#leaveDrains();
    this.#phase = { type: 'ended' };
    this.#attempt.leave();
    this.#request.ticket.end();
    this.#onEnded();
  }
}

/** A drain that runs out of the time that a call may have, or that never began, ends by its client. */
const isClients = ({ meter }: Extract<Phase, { type: 'draining' }>, kind: UpstreamErrorKind): boolean =>
  meter === null ? isOverTime(kind) : kind === 'overdue';
