import type { Logger } from 'pino';
import type { RequestId } from '../contracts/ids.ts';
import type { Journal } from '../ledger/journal/journal.ts';
import type { Projections } from '../projections/projections.ts';

interface JournalForgettingParts {
  readonly journal: Pick<Journal, 'settle'>;
  readonly projections: Pick<Projections, 'whenWritten'>;
  readonly logger: Logger;
}

/**
 * Lets the journal forget settled requests once the views' file has their debits. Sooner, a restart without the log would
 * know of them neither from the journal nor from its views, and admit requests against credit that is spent.
 */
export class JournalForgetting {
  readonly #parts: JournalForgettingParts;
  #settled: RequestId[] = [];
  #isWaiting = false;

  constructor(parts: JournalForgettingParts) {
    this.#parts = parts;
  }

  add(requestId: RequestId): void {
    this.#settled.push(requestId);
    if (!this.#isWaiting) void this.#forget();
  }

  async #forget(): Promise<void> {
    const { journal, projections, logger } = this.#parts;
    this.#isWaiting = true;
    try {
      while (this.#settled.length > 0) {
        const settled = this.#settled;
        this.#settled = [];
        await projections.whenWritten();
        journal.settle(settled);
      }
    } catch (error) {
      // The next start finds them in the ledger.
      const reason = error instanceof Error ? error.message : String(error);
      logger.warn({ reason }, 'the journal keeps settled requests for the next start');
    } finally {
      this.#isWaiting = false;
    }
  }
}
