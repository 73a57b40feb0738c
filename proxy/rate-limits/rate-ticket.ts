import { NO_TOKENS, type TokenCounts } from '../../contracts/usage.ts';
import type { AskedCall } from './asked-call.ts';
import type { CallerUse } from './caller-use.ts';

/**
 * What a call has taken of its key's and its account's limits. Whoever has it ends it, however the call ends; until then
 * it counts as under way.
 */
export class RateTicket {
  readonly #call: AskedCall;
  readonly #uses: readonly CallerUse[];
  readonly #monotonic: () => number;
  readonly #takenAtMs: number;
  readonly #onEnded: () => void;
  #isMetered = false;
  #isEnded = false;

  /** @param monotonic whole milliseconds by a clock that nobody sets */
  constructor(call: AskedCall, uses: readonly CallerUse[], monotonic: () => number, onEnded: () => void) {
    this.#call = call;
    this.#uses = uses;
    this.#monotonic = monotonic;
    this.#takenAtMs = monotonic();
    this.#onEnded = onEnded;
    for (const use of uses) use.begin(call, this.#takenAtMs);
  }

  /** What was metered takes the place of what was guessed. What was read from a cache is no input that a limit counts. */
  metered({ input, cacheWrite5m, cacheWrite1h, output }: TokenCounts): void {
    const taken = this.#call.inputTokens;
    const more = input + cacheWrite5m + cacheWrite1h - taken;
    const nowMs = this.#monotonic();
    this.#isMetered = true;
    for (const use of this.#uses) {
      if (more > 0) use.take('inputTokens', more, nowMs);
      else use.giveBack('inputTokens', -more, { taken, takenAtMs: this.#takenAtMs }, nowMs);
      use.take('outputTokens', output, nowMs);
    }
  }

  /** It was refused by something else before anything was done for it: it is as though it had never come. */
  refused(): void {
    if (this.#isEnded) return;
    const nowMs = this.#monotonic();
    const takenAtMs = this.#takenAtMs;
    for (const use of this.#uses) use.giveBack('requests', 1, { taken: 1, takenAtMs }, nowMs);
    this.end();
  }

  /** It is under way no more. What was not metered never went upstream. Idempotent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (!this.#isMetered) this.metered(NO_TOKENS);
    for (const use of this.#uses) use.end(this.#call.kind);
    this.#onEnded();
  }
}
