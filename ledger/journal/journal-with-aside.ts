import type { RequestId } from '../../contracts/ids.ts';
import { shortageOf } from '../../contracts/shortage.ts';
import { pause } from '../pause.ts';
import type { Journal, JournalObstacle, JournalShortage } from './journal.ts';
import { JournalError, JournalFull } from './journal-error.ts';
import { MOVED_ASIDE_MAX } from './limits.ts';
import type { SegmentedJournal } from './segmented-journal.ts';

interface JournalWithAsideOptions {
  readonly main: SegmentedJournal;
  /** Null where nothing was ever kept aside. */
  readonly aside: SegmentedJournal | null;
  readonly openAside: () => Promise<SegmentedJournal>;
  /** From one try to the next, while there is no room. */
  readonly lookMs: number;
}

/**
 * Two journals as one: that of all requests, with the bounds that refuse requests, and one beside it of those whose accounts
 * are set aside. What moves is written there and synced before the first may forget it, so that after a crash it is in one of
 * them or in both; and what is settled is settled in both.
 */
export class JournalWithAside implements Journal {
  readonly #main: SegmentedJournal;
  #aside: SegmentedJournal | null;
  readonly #openAside: () => Promise<SegmentedJournal>;
  readonly #lookMs: number;
  /** Open requests of the first that are to be moved. */
  readonly #toMove = new Set<RequestId>();
  #moving: Promise<void> | null = null;
  readonly #failed = Promise.withResolvers<JournalError>();
  #failure: JournalError | null = null;
  readonly #ending = new AbortController();
  #closing: Promise<void> | null = null;

  constructor({ main, aside, openAside, lookMs }: JournalWithAsideOptions) {
    this.#main = main;
    this.#aside = aside;
    this.#openAside = openAside;
    this.#lookMs = lookMs;
    void main.failed.then((error) => this.#fail(error));
    void aside?.failed.then((error) => this.#fail(error));
  }

  get bytes(): number {
    return this.#main.bytes;
  }

  get asideBytes(): number {
    // What is settled of its last segment is not needed any more.
    return this.#aside === null || this.#aside.open === 0 ? 0 : this.#aside.bytes;
  }

  get open(): number {
    return this.#main.open + (this.#aside?.open ?? 0);
  }

  get obstacle(): JournalObstacle | null {
    return this.#failure === null ? this.#main.obstacle : 'failed';
  }

  get shortage(): JournalShortage | null {
    return this.#main.shortage;
  }

  get failed(): Promise<JournalError> {
    return this.#failed.promise;
  }

  begin(id: RequestId, start: string): void {
    this.#main.begin(id, start);
  }

  finish(id: RequestId, finished: string): void {
    this.#main.finish(id, finished);
  }

  settle(ids: readonly RequestId[]): void {
    this.#main.settle(ids);
    this.#aside?.settle(ids);
  }

  durable(): Promise<void> {
    return this.#main.durable();
  }

  keepAside(ids: readonly RequestId[]): void {
    for (const id of ids) if (this.#main.has(id)) this.#toMove.add(id);
    if (this.#toMove.size > 0 && this.#closing === null) this.#moving ??= this.#moveAll();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    // What is on its way is in both then, or in the first alone.
    const [closed] = await Promise.allSettled([this.#main.close(), this.#moving]);
    await this.#aside?.close();
    if (closed.status === 'rejected') throw closed.reason;
  }

  async #moveAll(): Promise<void> {
    const { signal } = this.#ending;
    try {
      while (this.#toMove.size > 0 && !signal.aborted) if (!(await this.#moveSome())) await pause(this.#lookMs, signal);
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    this.#moving = null;
  }

  /** False where there is no room: they stay where they are. */
  async #moveSome(): Promise<boolean> {
    const ids = [...this.#toMove.values().take(MOVED_ASIDE_MAX)];
    try {
      this.#aside ??= await this.#openedAside();
      for (const id of ids) this.#copy(id, this.#aside);
      await this.#aside.durable();
    } catch (error) {
      if (!isWantOfRoom(error)) throw error;
      return false;
    }
    this.#main.settle(ids.filter((id) => this.#isWholeAside(id)));
    for (const id of ids) this.#toMove.delete(id);
    return true;
  }

  async #openedAside(): Promise<SegmentedJournal> {
    const aside = await this.#openAside().catch((error: unknown) => {
      throw error instanceof JournalError && shortageOf(error.cause) !== null ? error.cause : error;
    });
    void aside.failed.then((error) => this.#fail(error));
    return aside;
  }

  /** A request of which damage has left the end alone stays: a journal takes no end without its start. */
  #copy(id: RequestId, aside: SegmentedJournal): void {
    const request = this.#main.read(id);
    if (request === null || request.start === null) return;
    if (!aside.has(id)) aside.begin(id, request.start);
    if (request.finished !== null && aside.canFinish(id)) aside.finish(id, request.finished);
  }

  #isWholeAside(id: RequestId): boolean {
    const aside = this.#aside;
    return aside?.has(id) === true && (this.#main.canFinish(id) || !aside.canFinish(id));
  }

  #fail(error: unknown): void {
    const isTold = error instanceof JournalError && error.kind === 'input_output';
    this.#failure ??= isTold
      ? error
      : new JournalError('input_output', 'cannot keep requests aside of accounts that are set aside', { cause: error });
    this.#failed.resolve(this.#failure);
  }
}

const isWantOfRoom = (error: unknown): boolean => error instanceof JournalFull || shortageOf(error) !== null;
