import type { ServerResponse } from 'node:http';

/** Whoever waits for an answer. What is waited for on its behalf ends when it leaves. */
export class CallingClient {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Or has been answered already, as one whose request did not come in time: nothing can be written to it any more. */
  get hasLeft(): boolean {
    return this.#response.destroyed || !this.#response.req.socket.writable;
  }

  /** Told once, before its answer is written; never where it has left already. Returns how not to be told. */
  onceLeft(listener: () => void): () => void {
    this.#response.once('close', listener);
    return () => this.#response.off('close', listener);
  }
}
