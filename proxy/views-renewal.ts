import type { Logger } from 'pino';
import { orAborted } from '../ledger/or-aborted.ts';
import { TIMING, type Timing } from '../ledger/timing.ts';

/** Between two tries; each waits three times as long as the one before: all of them are some four hours. */
const FIRST_PAUSE_MS = 5_000;
const TRIES_MAX = 9;
/** How often it is looked whether a command that rebuilds them already has ended. */
const LOOK_MS = 5_000;

interface ViewsRenewalParts {
  /** Before, nothing can be gone over to. */
  readonly whenRenewable: Promise<void>;
  /** Of which versions the rows are that the live views were made of; nothing where all were folded. @throws Error of SQLite */
  readonly upcastFrom: () => ReadonlyMap<string, number>;
  /** Whether a command rebuilds the views already. */
  readonly isUnderWay: () => boolean;
  /** Rebuilds them in a process of its own, which has this gateway go over to them; answers with its last words. @throws Error where it does not come to that */
  readonly rebuild: (signal: AbortSignal) => Promise<string>;
  readonly logger: Logger;
  readonly timing?: Pick<Timing, 'pause'>;
}

/**
 * Views that were made of those of an earlier version are rebuilt beside what is served, by themselves. What fails is tried again,
 * later and later; the gateway serves meanwhile.
 */
export class ViewsRenewal {
  readonly #parts: ViewsRenewalParts;
  readonly #ending = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #failures = 0;

  constructor(parts: ViewsRenewalParts) {
    this.#parts = parts;
  }

  /** Tries in vain since the start; 0 where the views are all folded, be it by a command that an operator has run. */
  get failures(): number {
    return this.#failures > 0 && this.#isUpcast() ? this.#failures : 0;
  }

  start(): void {
    this.#working = this.#work();
  }

  close(): Promise<void> {
    this.#ending.abort();
    return this.#working;
  }

  async #work(): Promise<void> {
    const { logger, timing: { pause } = TIMING } = this.#parts;
    const { signal } = this.#ending;
    await orAborted(this.#parts.whenRenewable, signal).catch(() => undefined);
    if (signal.aborted) return;
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const reason = await this.#try(pause);
      if (signal.aborted || reason === null) return;
      this.#failures = tries;
      const pauseMs = FIRST_PAUSE_MS * 3 ** (tries - 1);
      const next = tries < TRIES_MAX ? { nextInMs: pauseMs } : {};
      logger.error({ reason, tries, ...next }, 'the views of this version are not rebuilt: those of before serve on');
      if (tries < TRIES_MAX) await pause(pauseMs, signal);
    }
  }

  /** Where that cannot be read, they are what they were. */
  #isUpcast(): boolean {
    try {
      return this.#parts.upcastFrom().size > 0;
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'whether the views are to be rebuilt cannot be told');
      return true;
    }
  }

  async #isToBeDone(pause: Timing['pause']): Promise<boolean> {
    const { upcastFrom, isUnderWay } = this.#parts;
    const { signal } = this.#ending;
    const isNeeded = (): boolean => !signal.aborted && upcastFrom().size > 0;
    while (isNeeded() && isUnderWay()) await pause(LOOK_MS, signal);
    return isNeeded();
  }

  /** Why it was in vain; null where it was not, or nothing is to be done. */
  async #try(pause: Timing['pause']): Promise<string | null> {
    const { upcastFrom, rebuild, logger } = this.#parts;
    try {
      if (!(await this.#isToBeDone(pause))) return null;
      logger.info({ versions: Object.fromEntries(upcastFrom()) }, 'the views of this version are rebuilt beside them');
      const said = await rebuild(this.#ending.signal);
      if (upcastFrom().size > 0) return `it has ended, and nothing was switched: ${said}`;
      logger.warn({ said }, 'the views are those of this version, folded from the log');
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}
