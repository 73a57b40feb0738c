import { NO_TOKENS, type TokenCounts } from '../../contracts/usage.ts';
import type { Caller } from '../caller.ts';
import type { AskedMessage, CallKind, EnteringKind } from './asked-call.ts';
import type { CallerUse } from './caller-use.ts';

interface RateTicketParts {
  readonly caller: Caller;
  /** Of its key and its account. */
  readonly uses: readonly [key: CallerUse, account: CallerUse];
  /** Whole milliseconds by a clock that nobody sets. */
  readonly monotonic: () => number;
  /** How many of each kind there are in all: kept as well. */
  readonly underWay: Record<CallKind, number>;
}

/** What a call took of limits: a request, then tokens. Whoever has it ends it; until then it is under way. */
export class RateTicket {
  readonly caller: Caller;
  readonly uses: readonly [key: CallerUse, account: CallerUse];
  readonly #monotonic: () => number;
  readonly #allUnderWay: Record<CallKind, number>;
  readonly #enteredAtMs: number;
  #kind: CallKind;
  #inputTokens = 0;
  #askedAtMs: number;
  #isMetered = false;
  #isEnded = false;

  constructor(kind: EnteringKind, { caller, uses, monotonic, underWay }: RateTicketParts) {
    this.caller = caller;
    this.uses = uses;
    this.#monotonic = monotonic;
    this.#allUnderWay = underWay;
    this.#kind = kind;
    this.#enteredAtMs = monotonic();
    this.#askedAtMs = this.#enteredAtMs;
    this.#begin(kind);
    for (const use of uses) use.take('requests', 1, this.#enteredAtMs);
  }

  /** Takes what a message is likely to need. Once. */
  asked({ isStream, inputTokens }: AskedMessage): void {
    this.#inputTokens = inputTokens;
    this.#askedAtMs = this.#monotonic();
    for (const use of this.uses) use.take('inputTokens', inputTokens, this.#askedAtMs);
    if (!isStream) return;
    this.#endOf(this.#kind);
    this.#kind = 'stream';
    this.#begin('stream');
  }

  /** The tokens of the message are counted by a provider: that is a count under way, too. Returns how it ends, once. */
  beginCount(): () => void {
    this.#begin('count');
    return () => this.#endOf('count');
  }

  /** What was metered takes the place of what was guessed. What was read from a cache is no input that a limit counts. */
  metered({ input, cacheWrite5m, cacheWrite1h, output }: TokenCounts): void {
    const taken = this.#inputTokens;
    const more = input + cacheWrite5m + cacheWrite1h - taken;
    const nowMs = this.#monotonic();
    this.#isMetered = true;
    for (const use of this.uses) {
      if (more > 0) use.take('inputTokens', more, nowMs);
      else use.giveBack('inputTokens', -more, { taken, takenAtMs: this.#askedAtMs }, nowMs);
      use.take('outputTokens', output, nowMs);
    }
  }

  /** The gateway takes nothing at the moment, and has done nothing for it: it is as though it had never come. */
  turnedAway(): void {
    if (this.#isEnded) return;
    const nowMs = this.#monotonic();
    const takenAtMs = this.#enteredAtMs;
    for (const use of this.uses) use.giveBack('requests', 1, { taken: 1, takenAtMs }, nowMs);
    this.end();
  }

  /** It is under way no more. What was not metered never went upstream: of it stays the request alone. Idempotent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (!this.#isMetered) this.metered(NO_TOKENS);
    this.#endOf(this.#kind);
  }

  #begin(kind: CallKind): void {
    for (const use of this.uses) use.begin(kind);
    this.#allUnderWay[kind]++;
  }

  #endOf(kind: CallKind): void {
    for (const use of this.uses) use.end(kind);
    this.#allUnderWay[kind]--;
  }
}
