import type { ServerResponse } from 'node:http';

/** Whoever waits for an answer. What is waited for on its behalf ends when it leaves. */
export class CallingClient {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  get hasLeft(): boolean {
    return this.#response.destroyed || this.#response.req.socket.destroyed;
  }

  /** Told once, before its answer is written; never where it has left already. Returns how not to be told. */
  onceLeft(listener: () => void): () => void {
    this.#response.once('close', listener);
    return () => this.#response.off('close', listener);
  }
}
