import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EventLog, isLogAway } from '../contracts/event-log.ts';
import type { LedgerEvent } from '../contracts/events.ts';
import { type CommandId, commandId, type RequestId, uuidV7 } from '../contracts/ids.ts';
import { type FolderNote, knowledgeOfNote, renewNote, writeNote } from '../ledger/identity/folder-note.ts';
import { identifyLedger } from '../ledger/identity/identify-ledger.ts';
import type { LedgerKnowledge } from '../ledger/identity/known-ledger.ts';
import { LedgerLostError, laterGeneration } from '../ledger/identity/ledger-lost.ts';
import type { LedgerIdentity } from '../ledger/identity/ledger-state.ts';
import { findUnsettleable } from '../ledger/identity/unsettleable.ts';
import type { Journal, RecoveredRequest } from '../ledger/journal/journal.ts';
import { untilLogAnswers } from '../ledger/until-log-answers.ts';
import { carryOver } from '../projections/carry-over.ts';
import { VIEWS_FILE, writeLedgerOfViews } from '../projections/known-views.ts';
import { logCheckpointSchema } from '../projections/log-view-feed.ts';
import type { Projections } from '../projections/projections.ts';
import { compareLedger, type FolderKnowledge, type LedgerComparison, readFolder } from '../projections/prove-ledger.ts';

/** A log that does not answer for so long is away: the gateway starts without it. */
const FIRST_ANSWER_MS = 10_000;
/** How often the folder's note is written while there is something new to it. */
const NOTE_MS = 1_000;
const LEASES_NOTED_MAX = 1_000;

export interface LedgerWatchOptions {
  readonly log: EventLog;
  readonly dataFolder: string;
  /** The ledger as an operator knows it. */
  readonly where: string;
  /** How often something missing is looked for before it counts as lost. */
  readonly looks: number;
  readonly recovered: readonly RecoveredRequest[];
  readonly journal: Journal;
  readonly clock: () => number;
  readonly logger: Logger;
  /** Once, when the ledger has proved to have everything that is known of it, before anything is made of it. */
  readonly onWhole: () => Promise<void>;
}

/** Who is told what becomes of the ledger's question while the gateway serves; after either nothing may be served. */
export interface LedgerWatchFollower {
  /** The ledger is another, or lacks what is known of it. */
  readonly onLost: (error: LedgerLostError) => void;
  /** It cannot be told whether it does: what is asked cannot be read, or the answer not be noted. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Whether the ledger is the one that this data folder belongs to, and has everything that the folder knows of it: asked
 * before anything is served from it, however long the log is away, and again each time it comes back. Keeps the folder's
 * note of what is known.
 */
export class LedgerWatch {
  readonly #options: LedgerWatchOptions;
  readonly #folder: FolderKnowledge;
  readonly #whole = Promise.withResolvers<LedgerIdentity>();
  readonly #closing = new AbortController();
  readonly #setAside = new Set<RequestId>();
  #ofEarlierGeneration: ReadonlySet<RequestId>;
  #identity: LedgerIdentity | null = null;
  #newest: FolderNote['newest'];
  readonly #leases: Map<string, number>;
  #projections: Projections | null = null;
  #noted = '';
  #noteTimer: NodeJS.Timeout | null = null;
  #noting: Promise<void> | null = null;
  #looking: Promise<void> | null = null;
  #isMissing = false;
  /** The views are open: they cannot be taken over to another generation any more. */
  #isServing = false;
  #follower: LedgerWatchFollower | null = null;

  constructor(options: LedgerWatchOptions) {
    const { dataFolder, recovered, clock } = options;
    this.#options = options;
    this.#folder = readFolder(dataFolder, recovered, clock());
    const open = new Set(recovered.map(({ requestId }) => requestId));
    this.#ofEarlierGeneration = new Set(this.#folder.note?.earlier.filter((requestId) => open.has(requestId)));
    this.#newest = this.#folder.note?.newest ?? null;
    this.#leases = new Map(Object.entries(this.#folder.note?.leases ?? {}));
    this.#whole.promise.catch(() => undefined);
  }

  /**
   * Asks the log, and waits for its answer as long as one may be near. Without one the gateway goes on, and the asking,
   * too. @throws LedgerLostError
   */
  async start(): Promise<void> {
    const proving = this.#prove();
    const waiting = new AbortController();
    // Ended in any case: a start that is refused would wait for it.
    const answered = await Promise.race([
      proving.then(
        () => true,
        (error: unknown) => {
          if (isLogAway(error)) return false;
          throw error;
        },
      ),
      delay(FIRST_ANSWER_MS, false, { signal: waiting.signal }).catch(() => false),
    ]).finally(() => waiting.abort());
    this.#isServing = true;
    if (!answered) this.#looking = this.#lookOn(proving);
  }

  /** Resolves when the ledger has proved to be whole; rejects with a LedgerLostError when it has not. */
  get whenWhole(): Promise<LedgerIdentity> {
    return this.#whole.promise;
  }

  /** Of the recovered requests those that the ledger can still take. */
  get settleable(): readonly RecoveredRequest[] {
    return this.#options.recovered.filter(({ requestId }) => !this.#setAside.has(requestId));
  }

  /** Those that began in an earlier generation of the ledger: the revision that each names says nothing of this one. */
  get ofEarlierGeneration(): ReadonlySet<RequestId> {
    return this.#ofEarlierGeneration;
  }

  /** From here on what the views learn is noted, and what is found is told. */
  follow(projections: Projections, proxy: string, follower: LedgerWatchFollower): void {
    this.#projections = projections;
    this.#follower = follower;
    projections.accounts.onFolded((accountId, event) => {
      if (event.type !== 'CreditsLeased' || event.data.proxy !== proxy) return;
      this.#leases.delete(accountId);
      this.#leases.set(accountId, projections.accounts.read(accountId).revision);
      const [oldest] = this.#leases.keys();
      if (this.#leases.size > LEASES_NOTED_MAX && oldest !== undefined) this.#leases.delete(oldest);
    });
    this.#whole.promise.catch((error: unknown) => this.#tell(error));
    this.#noteTimer = setInterval(() => this.#note(), NOTE_MS);
  }

  /** Why nothing may be admitted: a first look has found less than was seen. Null where nothing is missing. */
  doubt(): string | null {
    return this.#isMissing ? 'the ledger lacks events that this gateway has seen; it is looked for them again' : null;
  }

  /** The log was away and is back: it may have been put back to an earlier state meanwhile. */
  async lookAgain(): Promise<void> {
    const note = this.#noteNow();
    if (note === null || this.#closing.signal.aborted) return;
    try {
      const known = [{ ...knowledgeOfNote(note), source: 'this gateway' }];
      const comparison = await this.#compare(known);
      if (this.#closing.signal.aborted || comparison.type === 'whole') return;
      this.#tell(
        comparison.type === 'later generation'
          ? laterGeneration(this.#options.where, comparison.identity)
          : comparison.error,
      );
    } catch (error) {
      // Away again; it is looked at when it is back.
      if (!isLogAway(error)) this.#tell(error);
    }
  }

  /** What the log says of itself while it is followed. */
  heard(event: LedgerEvent): void {
    const { ledgerId, generation } = event.data;
    if (this.#identity === null || generation <= this.#identity.generation) return;
    this.#tell(laterGeneration(this.#options.where, { ledgerId, generation }));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#noteTimer !== null) clearInterval(this.#noteTimer);
    await this.#looking;
    await this.#noting;
    await this.#renewNote();
  }

  #tell(error: unknown): void {
    if (error instanceof LedgerLostError) this.#follower?.onLost(error);
    else this.#follower?.onFailed(error);
  }

  /** @throws LedgerLostError; EventLogError when the log does not answer */
  async #prove(): Promise<void> {
    const { log, clock, onWhole, dataFolder, where, logger } = this.#options;
    const comparison = await this.#compare(this.#folder.all);
    if (comparison.type === 'other ledger' || comparison.type === 'lost') throw comparison.error;
    if (comparison.type === 'later generation') {
      if (this.#isServing) throw laterGeneration(where, comparison.identity);
      await this.#carryOver(comparison.identity);
    }
    const nowMs = clock();
    const identity = await identifyLedger(log, nowMs, {
      commandId: this.#newCommandId(),
      actor: 'gateway',
      recordedAt: new Date(nowMs).toISOString(),
    });
    writeLedgerOfViews(join(dataFolder, VIEWS_FILE), identity);
    writeNote(dataFolder, this.#noteOf(identity));
    await onWhole().catch((error: unknown) => {
      // Before the gateway serves, its start fails; after that it goes on with what the ledger has.
      if (isLogAway(error) || !this.#isServing) throw error;
      logger.error({ err: error }, 'what a first start writes was not written');
    });
    this.#identity = identity;
    this.#whole.resolve(identity);
  }

  /** What is missing at a first look may come with the next: until then nothing is admitted. */
  async #compare(known: readonly LedgerKnowledge[]): Promise<LedgerComparison> {
    const onMissing = (): void => {
      this.#isMissing = true;
    };
    const comparison = await compareLedger(known, { ...this.#options, onMissing });
    this.#isMissing = comparison.type === 'lost';
    return comparison;
  }

  async #carryOver(identity: LedgerIdentity): Promise<void> {
    const { log, clock, logger, dataFolder, recovered, journal } = this.#options;
    const nowMs = clock();
    const unsettleable = await findUnsettleable(log, recovered, nowMs);
    const options = {
      log,
      dataFolder,
      journal,
      recovered,
      unsettleable,
      identity,
      nowMs,
      newCommandId: () => this.#newCommandId(),
      actor: 'gateway',
    };
    const carried = await carryOver(options);
    this.#newest = null;
    this.#leases.clear();
    for (const { requestId, accountId, cause } of unsettleable) {
      this.#setAside.add(requestId);
      logger.error({ requestId, accountId, cause }, 'a request of the last run is lost with a part of the ledger');
    }
    this.#ofEarlierGeneration = new Set(this.settleable.map(({ requestId }) => requestId));
    logger.warn(
      { ...identity, ...carried },
      'a loss of the ledger was accepted; this gateway begins on its new generation',
    );
  }

  #newCommandId(): CommandId {
    return commandId(uuidV7(this.#options.clock(), randomBytes(10)));
  }

  /** However long the log is away. Never rejects: what is found is in `whenWhole`. */
  async #lookOn(first: Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    let proving: Promise<void> | null = first;
    const prove = (): Promise<void> => {
      const under = proving ?? this.#prove();
      proving = null;
      return under;
    };
    try {
      await untilLogAnswers(prove, { signal });
    } catch (error) {
      if (!signal.aborted) this.#whole.reject(error);
    }
  }

  /** What is known now; null before the ledger has proved to be whole. */
  #noteNow(): FolderNote | null {
    return this.#identity === null ? null : this.#noteOf(this.#identity);
  }

  #noteOf(identity: LedgerIdentity): FolderNote {
    const checkpoint = this.#projections?.checkpoint ?? null;
    if (checkpoint?.feed === 'log') {
      const { stream, revision, id } = logCheckpointSchema.parse(JSON.parse(checkpoint.text));
      this.#newest = { stream, revision, id };
    }
    return {
      ...identity,
      newest: this.#newest,
      leases: Object.fromEntries(this.#leases),
      earlier: [...this.#ofEarlierGeneration],
    };
  }

  /** A note that cannot be written is as old as the last that could: it knows less, and nothing that is wrong. */
  async #renewNote(): Promise<void> {
    const note = this.#noteNow();
    const text = JSON.stringify(note);
    if (note === null || text === this.#noted) return;
    try {
      await renewNote(this.#options.dataFolder, note);
      this.#noted = text;
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'the note of what is known of the ledger was not written');
    }
  }

  /** One after the other. */
  #note(): void {
    this.#noting ??= this.#renewNote().finally(() => {
      this.#noting = null;
    });
  }
}
