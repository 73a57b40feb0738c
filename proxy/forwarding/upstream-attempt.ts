import type { RequestSpans } from '../observation/observed-request.ts';
import type { IntakeTurns } from '../request-body/intake-turns.ts';
import { TURN_BYTES, TURN_BYTES_OF_ALL, TURN_BYTES_OF_MANY, TURN_BYTES_OF_PIECE } from '../request-body/limits.ts';
import type { UpstreamControl, UpstreamError, UpstreamHeaders, UpstreamReceiver } from '../upstream/upstream.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { ForwardedRequest } from './forwarded-request.ts';
import { bodyForUpstream } from './upstream-body.ts';

/** What the forwarder hears of an attempt: as an upstream tells it, but for the control and the turns, which the attempt keeps. */
export interface AttemptReceiver extends Omit<UpstreamReceiver, 'onStart' | 'onEncoded'> {
  onStart(): void;
}

/** One call of one deployment, and the one handle on it. Once it is left, nothing that it still says reaches the forwarder. */
export class UpstreamAttempt implements UpstreamReceiver {
  readonly deployment: Deployment;
  readonly #forwarder: AttemptReceiver;
  readonly #request: ForwardedRequest;
  readonly #intake: IntakeTurns;
  #timer: NodeJS.Timeout | null = null;
  /** The request has been handed to it, and it may have seen it. */
  isSent = false;
  #upstreamRequestId: string | null = null;
  #control: UpstreamControl | null = null;
  #leaveQueue: () => void = () => undefined;
  #isOver = false;
  #isLeft = false;
  /** By whoever takes its answer. */
  #isHeldBack = false;
  /** More of its answer comes when it is its turn. */
  #waitsForTurn = false;
  /** Which turn of the event loop it is of which bytes are counted. */
  #turn = -1;
  #bytesOfTurn = 0;

  constructor(forwarder: AttemptReceiver, request: ForwardedRequest, deployment: Deployment, intake: IntakeTurns) {
    this.deployment = deployment;
    this.#forwarder = forwarder;
    this.#request = request;
    this.#intake = intake;
  }

  /** It no longer waits for its connection. */
  get hasStarted(): boolean {
    return this.#control !== null;
  }

  /** The upstream's own id of the request, from the answer's head. */
  get upstreamRequestId(): string | null {
    return this.#upstreamRequestId;
  }

  send(): void {
    const { upstream, model } = this.deployment;
    const { version, terms, observed } = this.#request;
    if (observed !== null) observed.upstream = upstream.name;
    const trace = this.#spans === null ? this.#request.trace : this.#spans.call(upstream.name, model);
    const body = bodyForUpstream({ ...this.#request, upstreamModel: model });
    this.#timer = setTimeout(() => this.#timeOut(), upstream.totalMs);
    const { owner } = this.#request.room;
    this.#leaveQueue = upstream.send({ path: '/v1/messages', body, owner, version, beta: terms.beta, trace }, this);
  }

  /** Ends the call if it has not ended, and hears no more of it. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#clear();
    this.#leaveQueue();
    if (!this.#isOver) this.#control?.abort();
  }

  pause(): void {
    this.#isHeldBack = true;
    if (!this.#waitsForTurn && !this.#isOver) this.#control?.pause();
  }

  resume(): void {
    this.#isHeldBack = false;
    if (!this.#waitsForTurn) this.#goOn();
  }

  abort(): void {
    this.#control?.abort();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    if (this.#isLeft) control.abort();
    else this.#forwarder.onStart();
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (this.#isLeft) return;
    this.#upstreamRequestId = headers.requestId;
    if (status !== 200) this.#spans?.callFailed(String(status));
    this.#forwarder.onHead(status, headers);
  }

  onData(chunk: Buffer): void {
    if (this.#isLeft) return;
    this.#forwarder.onData(chunk);
    this.#takeTurns(chunk.length);
  }

  /** Decoding takes its time as well, also of what decodes to nothing. */
  onEncoded(bytes: number): void {
    if (!this.#isLeft) this.#takeTurns(bytes);
  }

  onEnd(): void {
    this.#isOver = true;
    this.#clear();
    if (!this.#isLeft) this.#forwarder.onEnd();
  }

  onError(error: UpstreamError): void {
    if (!this.#isOver && !this.#isLeft) this.#spans?.callFailed(error.kind);
    this.#isOver = true;
    this.#clear();
    if (!this.#isLeft) this.#forwarder.onError(error);
  }

  #takeTurns(length: number): void {
    const { turn } = this.#intake;
    const bytes = Math.max(length, TURN_BYTES_OF_PIECE);
    this.#bytesOfTurn = turn === this.#turn ? this.#bytesOfTurn + bytes : bytes;
    this.#turn = turn;
    const most = this.#intake.count(bytes) >= TURN_BYTES_OF_ALL ? TURN_BYTES_OF_MANY : TURN_BYTES;
    if (this.#bytesOfTurn >= most && !this.#waitsForTurn) this.#waitForTurn();
  }

  /** An upstream that sends as fast as it is read would have the whole loop to itself, also where its client has left. */
  #waitForTurn(): void {
    if (!this.#isHeldBack) this.#control?.pause();
    this.#waitsForTurn = true;
    this.#intake.wait(this.#request.room.owner, () => {
      this.#waitsForTurn = false;
      this.#bytesOfTurn = 0;
      if (!this.#isHeldBack && !this.#isLeft) this.#goOn();
    });
  }

  /** Once it is over its connection is another call's. */
  #goOn(): void {
    if (!this.#isOver) this.#control?.resume();
  }

  #timeOut(): void {
    this.onError({ kind: 'overdue', message: 'the call took longer than its total time' });
    this.leave();
    this.#control?.abort();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#spans?.callEnded();
  }

  get #spans(): RequestSpans | null {
    return this.#request.observed?.spans ?? null;
  }
}
