import { join } from 'node:path';
import type { Logger } from 'pino';
import { assertFormsRead, type Forms, OWN_FORMS } from '../../contracts/event-forms.ts';
import { type EventLog, isLogAway } from '../../contracts/event-log.ts';
import type { LedgerEvent } from '../../contracts/events.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { compareLedger, type LedgerComparison } from '../../ledger/identity/compare-ledger.ts';
import { knowledgeOfNote } from '../../ledger/identity/folder-note.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import type { LedgerKnowledge } from '../../ledger/identity/known-ledger.ts';
import { LedgerElsewhereError, LedgerLostError, laterGeneration } from '../../ledger/identity/ledger-lost.ts';
import type { Journal, RecoveredRequest } from '../../ledger/journal/journal.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { within } from '../../ledger/within.ts';
import { VIEWS_FILE, writeLedgerOfViews } from '../../projections/known-views.ts';
import type { Projections } from '../../projections/projections.ts';
import { type FolderKnowledge, readFolder } from '../../projections/read-folder.ts';
import { beginOnGeneration } from './begin-on-generation.ts';
import { KeptNote } from './kept-note.ts';
import { LeftRequests } from './left-requests.ts';

/** A log that does not answer for so long is away: the gateway starts without it. */
const FIRST_ANSWER_MS = 10_000;

interface LedgerWatchOptions {
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
  /** Once, when all that is known is in it, before anything is made of it. New: nothing was in it before. */
  readonly onWhole: (ledger: { readonly isNew: boolean }) => Promise<void>;
}

/** Who is told what becomes of the ledger's question while the gateway serves; after either nothing may be served. */
interface LedgerWatchFollower {
  /** The ledger is another, or lacks what is known of it. */
  readonly onLost: (error: LedgerLostError) => void;
  /** It cannot be told whether it does: what is asked cannot be read, or the answer not be noted. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Whether the ledger is the one that this data folder belongs to, and has everything that the folder knows of it: asked
 * before anything is served from it, however long the log is away, and again each time it comes back.
 */
export class LedgerWatch {
  /** What the last run has left in the journal. */
  readonly left: LeftRequests;
  readonly #options: LedgerWatchOptions;
  readonly #folder: FolderKnowledge;
  readonly #note: KeptNote;
  readonly #whole = Promise.withResolvers<LedgerIdentity>();
  readonly #closing = new AbortController();
  #identity: LedgerIdentity | null = null;
  #looking: Promise<void> | null = null;
  #isMissing = false;
  /** As it was found by the first asking that was answered: a later one finds what this gateway has written. */
  #isNew = false;
  /** The views are open: they cannot be taken over to another generation any more. */
  #isServing = false;
  #isElsewhere = false;
  #follower: LedgerWatchFollower | null = null;

  constructor(options: LedgerWatchOptions) {
    const { dataFolder, recovered, clock, logger } = options;
    this.#options = options;
    this.#folder = readFolder(dataFolder, recovered, clock());
    const found = this.#folder.note;
    this.left = new LeftRequests(recovered, found?.earlier ?? []);
    this.#note = new KeptNote({ dataFolder, found, left: this.left, logger });
    this.#whole.promise.catch(() => undefined);
  }

  /** Waits for the log's answer as long as one may be near, then goes on, and asks on. @throws LedgerLostError */
  async start(): Promise<void> {
    const proving = this.#prove();
    const isAnswered = await isAnsweredSoon(proving);
    this.#isServing = true;
    if (!isAnswered) this.#looking = this.#keepLooking(proving);
  }

  /** Resolves when the ledger has proved to be whole; rejects with a LedgerLostError when it has not. */
  get whenWhole(): Promise<LedgerIdentity> {
    return this.#whole.promise;
  }

  /** From here on what the views learn is noted, and what is found is told. */
  follow(projections: Projections, proxy: string, follower: LedgerWatchFollower): void {
    this.#follower = follower;
    this.#whole.promise.catch((error: unknown) => this.#report(error));
    this.#note.follow(projections, proxy);
  }

  /** Why nothing may be admitted: a first look has found less than was seen. Null where nothing is missing. */
  doubt(): string | null {
    return this.#isMissing ? 'the ledger lacks events that this gateway has seen; it is looked for them again' : null;
  }

  /** The log was away and is back: it may have been put back to an earlier state meanwhile. */
  async lookAgain(): Promise<void> {
    const note = this.#note.current;
    if (note === null || this.#closing.signal.aborted) return;
    try {
      const known = [{ ...knowledgeOfNote(note), source: 'this gateway' }];
      const comparison = await this.#compare(known);
      if (this.#closing.signal.aborted || comparison.type === 'whole') return;
      this.#report(
        comparison.type === 'later generation'
          ? laterGeneration(this.#options.where, comparison.identity)
          : comparison.error,
      );
    } catch (error) {
      // Away again; it is looked at when it is back.
      if (!isLogAway(error)) this.#report(error);
    }
  }

  /** What the log says of itself while it is followed. */
  heard(event: LedgerEvent): void {
    if (event.type === 'FormsAdopted') {
      this.#heardForms(event.data.forms);
      return;
    }
    if (event.type === 'LedgerMoved') {
      // In a ledger that has arrived it stands among the events of before.
      void this.lookAgain();
      return;
    }
    const { ledgerId, generation } = event.data;
    if (this.#identity === null || generation <= this.#identity.generation) return;
    this.#report(laterGeneration(this.#options.where, { ledgerId, generation }));
  }

  /** A start would have refused them: whatever comes in such a form could not be read. */
  #heardForms(adopted: Forms): void {
    try {
      assertFormsRead(adopted, OWN_FORMS);
    } catch (error) {
      this.#report(error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#note.stop();
    await this.#looking;
    await this.#note.close();
  }

  /** It has moved to another log: this one takes nothing more. */
  get isElsewhere(): boolean {
    return this.#isElsewhere;
  }

  #report(error: unknown): void {
    this.#isElsewhere ||= error instanceof LedgerElsewhereError;
    if (error instanceof LedgerLostError) this.#follower?.onLost(error);
    else this.#follower?.onFailed(error);
  }

  /** @throws LedgerLostError; EventLogError when the log does not answer */
  async #prove(): Promise<void> {
    const { log, clock, onWhole, dataFolder, where, logger } = this.#options;
    const comparison = await this.#compare(this.#folder.all);
    if ('error' in comparison) throw comparison.error;
    if (comparison.type === 'later generation') {
      if (this.#isServing) throw laterGeneration(where, comparison.identity);
      await beginOnGeneration(comparison.identity, { ...this.#options, left: this.left, note: this.#note });
    }
    this.#isNew ||= this.#folder.note === null && (await log.headPosition()) === null;
    const nowMs = clock();
    const identity = await identifyLedger(log, nowMs, recordingBy('gateway', nowMs));
    writeLedgerOfViews(join(dataFolder, VIEWS_FILE), identity);
    this.#note.write(identity);
    await onWhole({ isNew: this.#isNew }).catch((error: unknown) => {
      // Before the gateway serves, its start fails; after that it goes on with what the ledger has.
      if (isLogAway(error) || !this.#isServing) throw error;
      logger.error({ err: error }, 'what a first start writes was not written');
    });
    this.#identity = identity;
    this.#note.keepUp(identity);
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

  /** However long the log is away. Never rejects: what is found is in `whenWhole`. */
  async #keepLooking(first: Promise<void>): Promise<void> {
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
}

/** Whether what asks the log comes to an end while an answer may be near; not where the log is away. Throws what else it throws. */
async function isAnsweredSoon(asking: Promise<void>): Promise<boolean> {
  const answered = asking.then(
    () => true,
    (error: unknown) => {
      if (isLogAway(error)) return false;
      throw error;
    },
  );
  return (await within(FIRST_ANSWER_MS, answered)) ?? false;
}
