import type { Logger } from 'pino';
import { pause } from '../../ledger/pause.ts';
import type { TimePassed } from '../clock/time-passed.ts';
import type { ProxyClaim } from './proxy-claim.ts';

/** Between two looks at the clock: a timer does not count the time in which the machine is suspended. */
const LOOK_MS = 500;

interface ClaimDoubtParts {
  readonly claim: Pick<ProxyClaim, 'current' | 'seenAt'>;
  /** Whether this proxy has all credit to itself: then no lease keeps two processes of its name apart. */
  readonly isOnly: boolean;
  /** For so long what costs is admitted without a look at the log whether another has claimed the name. */
  readonly unseenMsMax: number;
  /** For so long, from its admission on, a request can be under way and be settled. */
  readonly longestMs: number;
  /** Folds what the ledger has by now, however long that takes. @throws Error when closed meanwhile */
  readonly catchUp: (signal: AbortSignal) => Promise<void>;
  readonly clock: () => number;
  readonly passed: TimePassed;
  readonly logger: Logger;
}

/**
 * Why a proxy's claim on its name does not let it admit what costs anything.
 *
 * A proxy that has all credit to itself has no leases, so what an older process of its name admits, between the copy of
 * the folder and its noticing, is in no journal that the newer one has. The older one admits nothing after `unseenMsMax`
 * without a look at the log, and what it has admitted has ended after `longestMs`. For both together the newer one waits
 * from its claim on; then it folds what was settled meanwhile. One that has stood still for longer than that, and ends
 * a request then, has nothing held for it any more: `mayBeSpentElsewhere`.
 */
export class ClaimDoubt {
  readonly #parts: ClaimDoubtParts;
  readonly #closing = new AbortController();
  #isWaitOver = false;
  #waiting: Promise<void> | null = null;
  readonly #failed = Promise.withResolvers<unknown>();

  constructor(parts: ClaimDoubtParts) {
    this.#parts = parts;
  }

  /** Null where there is none. Asked for every request. */
  why(): string | null {
    const { claim, isOnly, unseenMsMax, passed } = this.#parts;
    const { current } = claim;
    if (current === null) return 'this gateway could not yet claim its name in the event log';
    if (!isOnly) return null;
    if (current.takenOverAtMs !== null && !this.#isWaitOver) return this.#mayBeUnderWay(current.takenOverAtMs);
    const unseenMs = passed.mostSince(claim.seenAt);
    return unseenMs <= unseenMsMax
      ? null
      : `whether another process has claimed the name of this gateway could not be looked up for ${Math.ceil(unseenMs / 1_000)} s`;
  }

  /**
   * Whether another process may by now have taken the name over, waited for what this one can have under way, and spent
   * what was held for that. It waits from its claim on, and there was none at this one's last look. Only a process that
   * stood still gets there: one that goes on looks, or admits nothing and ends what it has.
   */
  mayBeSpentElsewhere(): boolean {
    const { claim, isOnly, unseenMsMax, longestMs, passed } = this.#parts;
    return isOnly && passed.mostSince(claim.seenAt) > unseenMsMax + longestMs;
  }

  /** Resolves with what has ended the wait, if anything does: what costs is admitted no more by this process. */
  get failed(): Promise<unknown> {
    return this.#failed.promise;
  }

  /** Once the name is claimed: waits until an older process of it can have nothing under way. Idempotent. */
  start(): void {
    this.#waiting ??= this.#wait().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#failed.resolve(error);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#waiting;
  }

  async #wait(): Promise<void> {
    const { claim, isOnly, clock, catchUp, logger } = this.#parts;
    const takenOverAtMs = claim.current?.takenOverAtMs ?? null;
    if (takenOverAtMs === null || !isOnly) return;
    const { signal } = this.#closing;
    const untilMs = this.#untilMs(takenOverAtMs);
    logger.warn(this.#mayBeUnderWay(takenOverAtMs));
    for (let leftMs = untilMs - clock(); leftMs > 0 && !signal.aborted; leftMs = untilMs - clock())
      await pause(Math.min(leftMs, LOOK_MS), signal);
    if (signal.aborted) return;
    await catchUp(signal);
    this.#isWaitOver = true;
    logger.info('no older process of this name can have a request under way any more');
  }

  #untilMs(takenOverAtMs: number): number {
    const { unseenMsMax, longestMs } = this.#parts;
    return takenOverAtMs + unseenMsMax + longestMs;
  }

  #mayBeUnderWay(takenOverAtMs: number): string {
    const until = new Date(this.#untilMs(takenOverAtMs)).toISOString();
    return `this data folder was copied or moved, and another process may still have requests of it under way: what costs is admitted from ${until} on`;
  }
}
