import type { Logger } from 'pino';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { type FolderNote, renewNote, writeNote } from '../../ledger/identity/folder-note.ts';
import { NowAndThen } from '../../ledger/now-and-then.ts';
import type { Projections } from '../../projections/projections.ts';
import { logCheckpointSchema } from '../../projections/sources/log-view-source.ts';
import type { LeftRequests } from './left-requests.ts';

/** How often the folder's note is written while there is something new to it. */
const NOTE_MS = 1_000;
const LEASES_NOTED_MAX = 1_000;

interface KeptNoteParts {
  readonly dataFolder: string;
  /** What was in the folder; null where nothing was. */
  readonly found: FolderNote | null;
  readonly left: LeftRequests;
  readonly logger: Logger;
}

/** The data folder's note of what is known of its ledger, kept up with what its gateway learns. */
export class KeptNote {
  readonly #parts: KeptNoteParts;
  #newest: FolderNote['newest'];
  readonly #leases: Map<string, number>;
  #identity: LedgerIdentity | null = null;
  #projections: Projections | null = null;
  #written = '';
  /** It could not be, which is told once. */
  #isUnwritten = false;
  #renewals: NowAndThen<void> | null = null;

  constructor(parts: KeptNoteParts) {
    const { found } = parts;
    this.#parts = parts;
    this.#newest = found?.newest ?? null;
    this.#leases = new Map(Object.entries(found?.leases ?? {}));
  }

  /** What is known now; null before it is kept up. */
  get current(): FolderNote | null {
    return this.#identity === null ? null : this.#noteOf(this.#identity);
  }

  /** Nothing is known yet of the generation that begins. */
  forget(): void {
    this.#newest = null;
    this.#leases.clear();
  }

  write(identity: LedgerIdentity): void {
    writeNote(this.#parts.dataFolder, this.#noteOf(identity));
  }

  /** From here on it is of a ledger that has proved to be whole. */
  keepUp(identity: LedgerIdentity): void {
    this.#identity = identity;
  }

  /** From here on what the views learn is noted, and that the proxy has leased. */
  follow(projections: Projections, proxy: string): void {
    this.#projections = projections;
    projections.accounts.onFolded((accountId, event) => {
      if (event.type !== 'CreditsLeased' || event.data.proxy !== proxy) return;
      this.#leases.delete(accountId);
      this.#leases.set(accountId, projections.accounts.read(accountId).revision);
      const [oldest] = this.#leases.keys();
      if (this.#leases.size > LEASES_NOTED_MAX && oldest !== undefined) this.#leases.delete(oldest);
    });
    // One after the other.
    this.#renewals = new NowAndThen(NOTE_MS, () => this.#renew());
  }

  /** No timer any more; `close` writes what is new since. */
  stop(): void {
    this.#renewals?.stop();
  }

  async close(): Promise<void> {
    await this.#renewals?.close();
    await this.#renew();
  }

  #noteOf(identity: LedgerIdentity): FolderNote {
    const checkpoint = this.#projections?.checkpoint ?? null;
    if (checkpoint?.source === 'log') {
      const { stream, revision, id } = logCheckpointSchema.parse(JSON.parse(checkpoint.text));
      this.#newest = { stream, revision, id };
    }
    return {
      ...identity,
      newest: this.#newest,
      leases: Object.fromEntries(this.#leases),
      earlier: [...this.#parts.left.ofEarlierGeneration],
    };
  }

  /** A note that cannot be written is as old as the last that could: it knows less, and nothing that is wrong. */
  async #renew(): Promise<void> {
    const { dataFolder, logger } = this.#parts;
    const note = this.current;
    const text = JSON.stringify(note);
    if (note === null || text === this.#written) return;
    try {
      await renewNote(dataFolder, note);
      this.#written = text;
      if (this.#isUnwritten) logger.info('the note of what is known of the ledger is written again');
      this.#isUnwritten = false;
    } catch (error) {
      if (!this.#isUnwritten) logger.warn({ err: error }, NOT_WRITTEN);
      this.#isUnwritten = true;
    }
  }
}

const NOT_WRITTEN = 'the note of what is known of the ledger cannot be written for now; it is tried on and on';
