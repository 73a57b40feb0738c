import type { UpstreamControl, UpstreamError, UpstreamHeaders, UpstreamReceiver } from '../upstream/upstream.ts';
import type { Deployment } from '../upstream/upstream-directory.ts';
import type { MessageRelay } from './message-relay.ts';
import type { RelayedRequest } from './relayed-request.ts';
import { bodyForUpstream } from './upstream-body.ts';

/** One call of one deployment. Once it is left, nothing that it still says reaches the relay. */
export class UpstreamAttempt implements UpstreamReceiver {
  readonly index: number;
  readonly deployment: Deployment;
  readonly #relay: MessageRelay;
  readonly #request: RelayedRequest;
  #timer: NodeJS.Timeout | null = null;
  #control: UpstreamControl | null = null;
  #leaveQueue: () => void = () => undefined;
  #isOver = false;
  #isLeft = false;

  constructor(relay: MessageRelay, request: RelayedRequest, index: number) {
    const deployment = request.deployments[index];
    if (deployment === undefined) throw new Error(`the model has no deployment ${index}`);
    this.index = index;
    this.deployment = deployment;
    this.#relay = relay;
    this.#request = request;
  }

  send(): void {
    const { upstream, model } = this.deployment;
    const { version, terms } = this.#request;
    const body = bodyForUpstream({ ...this.#request, upstreamModel: model });
    this.#timer = setTimeout(() => this.#timeOut(), upstream.totalMs);
    const { owner } = this.#request.room;
    this.#leaveQueue = upstream.send({ path: '/v1/messages', body, owner, version, beta: terms.beta }, this);
  }

  /** Ends the call if it has not ended, and hears no more of it. */
  leave(): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    this.#clear();
    this.#leaveQueue();
    if (!this.#isOver) this.#control?.abort();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    if (this.#isLeft) control.abort();
    else this.#relay.onStart(control);
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    if (!this.#isLeft) this.#relay.onHead(status, headers);
  }

  onData(chunk: Buffer): void {
    if (!this.#isLeft) this.#relay.onData(chunk);
  }

  onEnd(): void {
    this.#isOver = true;
    this.#clear();
    if (!this.#isLeft) this.#relay.onEnd();
  }

  onError(error: UpstreamError): void {
    this.#isOver = true;
    this.#clear();
    if (!this.#isLeft) this.#relay.onError(error);
  }

  #timeOut(): void {
    this.onError({ kind: 'overdue', message: 'the call took longer than its total time' });
    this.leave();
    this.#control?.abort();
  }

  #clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
