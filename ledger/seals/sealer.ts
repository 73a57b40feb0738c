import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type EventLog, isLogAway, type RecordedEvent, type Subscription } from '../../contracts/event-log.ts';
import type { DomainEvent } from '../../contracts/events.ts';
import { type LedgerId, NO_STREAM, type Position, position, type Revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { pause } from '../pause.ts';
import { recordingBy } from '../recording-by.ts';
import { untilLogAnswers } from '../until-log-answers.ts';
import { firstKey } from './first-key.ts';
import { keptFrontier, writeFrontier } from './frontier-file.ts';
import { LeafHasher } from './leaf.ts';
import { largestPowerIn } from './leaf-page.ts';
import { SEAL_LIMITS } from './limits.ts';
import { hexOf, MerkleTree } from './merkle.ts';
import { restUntilDueMs } from './oldest-unsealed.ts';
import { SealCopies } from './seal-copies.ts';
import { introductionOf, type SealKey } from './seal-keys.ts';
import { type LedgerSealed, latestOf, type SealKeyIntroduced, sealText } from './seal-signature.ts';
import { readSealEvent, type SealedFrontier, SealedSequence } from './sealed-sequence.ts';
import { UnusableKeyError, whyOf } from './why-unsealed.ts';

interface SealerOptions {
  readonly log: EventLog;
  /** Where the frontier is kept for the next start. */
  readonly dataFolder: string;
  /**
   * The key as it is now: after a rotation it is another one. @param mayMake whether one may be made where there is none: not
   * where the ledger knows one already, which a new one would stand in for unknown @throws Error that says what is amiss with it
   */
  readonly key: (mayMake: boolean) => SealKey;
  /** The command that introduces a key in the place of one that is lost, for this ledger. */
  readonly replaceLost: string;
  /** A seal is due when so many events are unsealed, or one for so long. */
  readonly events: number;
  readonly afterMs: number;
  /** A file or folder outside of the ledger where seals are written, too. */
  readonly copyTo: string | null;
  /** For that place to answer; `SEAL_LIMITS.copyAnswerMs` where it is not given. */
  readonly copyAnswersWithinMs?: number;
  readonly clock: () => number;
  /** Whether the clock, the ledger and this process's claim are such that anything may be written for good. */
  readonly mayWrite: () => boolean;
  readonly logger: Logger;
}

export interface SealStanding {
  /** Why nothing more is sealed; null where it is. */
  readonly stopped: string | null;
  /** Why the newest seals are not where `copyTo` says; null where they are, or it says nothing. */
  readonly uncopied: string | null;
  readonly newest: LedgerSealed | null;
  readonly unsealed: number;
  readonly keys: readonly SealKeyIntroduced[];
}

/**
 * Seals the log behind its head: reads it in order, as any follower does, and appends to the stream `seals` at the revision
 * up to which it knows it. Whatever it does not know of that stream makes the append a conflict, and is read and followed
 * before anything else is sealed: so of two proxies, or of a process and the one before it that was killed, none seals a range twice, leaves one out, or
 * forks the chain. Nothing waits for it; where it cannot seal, it reads no further than what one seal takes.
 */
export class Sealer {
  readonly #options: SealerOptions;
  readonly #sequence = new SealedSequence();
  readonly #closing = new AbortController();
  #key: SealKey | null = null;
  #ledgerId: LedgerId | null = null;
  #copies: SealCopies | null = null;
  /** The stream `seals` is known to go so far: nothing is sealed before that has been followed. */
  #known: Revision = NO_STREAM;
  /** The next of that stream, read ahead of the log's order: who waits for one there would have to keep all that is before it. */
  #ahead: readonly SealAhead[] = [];
  #starting: Promise<void> | null = null;
  #subscription: Subscription | null = null;
  #sealing: Promise<void> | null = null;
  #keeping: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** What was unsealed at the start has waited since before; from the first seal by time on `afterMs`. Null before either is known. */
  #waitMs: number | null = null;
  #stopped: string | null = null;
  #uncopied: string | null = null;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /** Idempotent; what fails is told, and ends nothing but the sealing. */
  start(): void {
    this.#starting ??= this.#start().catch((error: unknown) => this.#stop(error));
  }

  standing(): SealStanding {
    const { newest, unsealed, keys } = this.#sequence;
    return { stopped: this.#stopped, uncopied: this.#uncopied, newest, unsealed, keys: [...keys.values()] };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#disarm();
    await this.#starting;
    await this.#subscription?.close();
    await this.#sealing;
    this.#copies?.hurry();
    await this.#keeping;
  }

  async #start(): Promise<void> {
    const { log, copyTo, key, logger } = this.#options;
    const { signal } = this.#closing;
    const after = await untilLogAnswers(() => this.#readKnown(), { signal });
    this.#key = await firstKey(() => key(this.#known === NO_STREAM), { signal, logger });
    if (signal.aborted) return;
    if (copyTo !== null && this.#ledgerId !== null)
      this.#copies = new SealCopies({
        ...{ log, to: copyTo, ledgerId: this.#ledgerId },
        answersWithinMs: this.#options.copyAnswersWithinMs ?? SEAL_LIMITS.copyAnswerMs,
      });
    this.#subscription =
      log.readLeaves === undefined
        ? log.subscribeAll({
            after,
            onEvents: (events) => this.#take(events),
            onStopped: (error) => this.#stop(error),
          })
        : this.#readPages(log.readLeaves.bind(log), after);
    this.#keep();
  }

  #readPages(readLeaves: ReadLeaves, after: Position | null): Subscription {
    const hasEnded = this.#followPages(readLeaves, after).catch((error: unknown) => this.#stop(error));
    return { close: () => hasEnded };
  }

  /** Where the log hashes beside this thread: what is left for this one is some twenty hashes a page, now and then. */
  async #followPages(readLeaves: ReadLeaves, from: Position | null): Promise<void> {
    const { signal } = this.#closing;
    for (let after = from; !signal.aborted; ) {
      const { place, unsealed } = this.#sequence;
      const asked = { after, ...place, limit: Math.max(1, this.#eventsDue() - unsealed) };
      const askedAtMs = performance.now();
      const page = await untilLogAnswers(() => readLeaves(asked), { signal });
      const tookMs = performance.now() - askedAtMs;
      this.#sequence.takePage(page, place);
      const { firstPosition, seal, isEnd } = page;
      const count = this.#sequence.size - place.ordinal;
      after = seal?.position ?? (count === 0 ? after : position((firstPosition ?? 0) + count - 1));
      await this.#taken(seal !== null);
      if (isEnd) await this.#arm();
      await pause(isEnd ? SEAL_LIMITS.lookMs : tookMs * SEAL_LIMITS.restPerWork, signal);
    }
  }

  /** From where on the log is to be read. */
  async #readKnown(): Promise<Position | null> {
    const { log, dataFolder } = this.#options;
    this.#ledgerId = (await readLedgerState(log)).identity?.ledgerId ?? null;
    for await (const newest of log.readStream(SEALS_STREAM, { direction: 'backwards', limit: 1 }))
      this.#known = newest.revision;
    const kept = await keptFrontier(log, dataFolder);
    if (kept === null || !(await this.#endsThere(kept.frontier, kept.seal))) return null;
    return this.#sequence.goOnFrom(kept.frontier, kept.seal) ? kept.frontier.position : null;
  }

  /** Whether what the log has from there on is what the seal covers, and ends where the frontier says that it does. */
  async #endsThere({ after, position }: SealedFrontier, { first, count, root }: LedgerSealed): Promise<boolean> {
    const range = new MerkleTree();
    const hasher = new LeafHasher();
    for await (const event of this.#options.log.readAll({ after })) {
      if (event.stream === SEALS_STREAM) continue;
      range.append(hasher.hash(event, first + range.size));
      if (range.size === count) return event.position === position && hexOf(range.root()) === root;
      if (range.size % SEAL_LIMITS.hashesPerTurn === 0) await nextTurn();
    }
    return false;
  }

  async #take(events: readonly RecordedEvent[]): Promise<void> {
    const { signal } = this.#closing;
    for (const [index, event] of events.entries()) {
      if (index > 0 && index % SEAL_LIMITS.hashesPerTurn === 0) await nextTurn();
      if (signal.aborted) return;
      this.#sequence.take(event);
      await this.#taken(event.stream === SEALS_STREAM);
    }
    await this.#arm();
  }

  /** Seals what is due by what was taken. */
  async #taken(isSeal: boolean): Promise<void> {
    const { signal } = this.#closing;
    if (isSeal) this.#keep();
    if (this.#sequence.revision < this.#known) await this.#followKnown();
    while (this.#isFull() && !signal.aborted) {
      await this.#seal();
      // A log that is away, or a clock in doubt: what is behind this is read when it is sealed.
      if (this.#isFull()) await pause(SEAL_LIMITS.retryMs, signal);
    }
  }

  /** Follows what is known of the stream `seals`, as far as the events have come. @throws SealChainError, UnreadableEventError */
  async #followKnown(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#closing;
    const sequence = this.#sequence;
    while (sequence.revision < this.#known && !signal.aborted) {
      const from = (sequence.revision + 1) as Revision;
      this.#ahead = this.#ahead.filter(({ recorded }) => recorded.revision >= from);
      if (this.#ahead.length === 0) {
        const page = { from, limit: SEAL_LIMITS.sealsAheadMax };
        const read = await untilLogAnswers(() => Array.fromAsync(log.readStream(SEALS_STREAM, page)), { signal });
        this.#ahead = read.map((recorded) => ({ recorded, treeSize: treeSizeOf(recorded) }));
      }
      const [next] = this.#ahead;
      if (next === undefined || next.treeSize > sequence.size) return;
      sequence.take(next.recorded);
      this.#keep();
    }
  }

  /** One seal's worth is unsealed, and no seal is known that is to come. */
  #isFull(): boolean {
    return this.#sequence.unsealed >= this.#eventsDue() && this.#sequence.revision >= this.#known;
  }

  /** A few fewer behind a seal by time: the ranges that follow share most of their trees with the whole again (LeafPageOf). */
  #eventsDue(): number {
    const { events } = this.#options;
    return events - (this.#sequence.place.rangeFirst % Math.min(largestPowerIn(events), SEAL_LIMITS.rangesAt));
  }

  /** As it is by now; where that cannot be read, the one of before goes on. */
  #keyNow(): SealKey | null {
    try {
      this.#key = this.#options.key(false);
    } catch (error) {
      this.#options.logger.error(whyOf(error), 'the key of seals cannot be read; the one of before goes on');
    }
    return this.#key;
  }

  async #arm(): Promise<void> {
    const { signal } = this.#closing;
    const { revision, unsealed, frontier } = this.#sequence;
    if (this.#timer !== null || signal.aborted || unsealed === 0) return;
    if (this.#waitMs === null) {
      // Before all seals are followed nothing tells which event is the oldest; they are still to come, and then this is asked again.
      if (revision < this.#known) return;
      const rest = () => restUntilDueMs(this.#options.log, frontier?.position ?? null, this.#options);
      this.#waitMs = await untilLogAnswers(rest, { signal });
      if (signal.aborted) return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#sealByTime().then(() => this.#arm());
    }, this.#waitMs);
    this.#timer.unref();
  }

  #disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** What is overdue since the start and could not be sealed is tried again soon: a seal by others has to be read first, or the clock is in doubt. */
  async #sealByTime(): Promise<void> {
    const { afterMs } = this.#options;
    const { newest } = this.#sequence;
    // Before anything else arms it.
    this.#waitMs = Math.min(afterMs, Math.max(this.#waitMs ?? 0, SEAL_LIMITS.retryMs));
    await this.#seal();
    if (this.#sequence.newest !== newest) this.#waitMs = afterMs;
  }

  #seal(): Promise<void> {
    this.#sealing ??= this.#sealDue()
      .catch((error: unknown) => this.#tell(error))
      .finally(() => {
        this.#sealing = null;
      });
    return this.#sealing;
  }

  async #sealDue(): Promise<void> {
    const { log, clock, mayWrite } = this.#options;
    const { revision, unsealed } = this.#sequence;
    if (unsealed === 0 || revision < this.#known || this.#stopped !== null || !mayWrite()) return;
    const nowMs = clock();
    const events = this.#nextEvents(new Date(nowMs).toISOString());
    const proposed = encodeEvents(events, recordingBy('sealer', nowMs));
    const result = await log.append(SEALS_STREAM, revision, proposed);
    if (result.type === 'conflict') {
      if (result.actualRevision <= revision)
        throw new Error(`the stream ${SEALS_STREAM} ends at ${result.actualRevision}, and was at ${revision}`);
      this.#known = result.actualRevision;
      return;
    }
    const { lastRevision, position } = result;
    this.#known = lastRevision;
    for (const [index, event] of proposed.entries()) {
      const at = (lastRevision - proposed.length + 1 + index) as Revision;
      this.#sequence.take({ ...event, stream: SEALS_STREAM, revision: at, position });
    }
    this.#keep();
  }

  /** @throws UnusableKeyError */
  #nextEvents(now: string): DomainEvent[] {
    const { keys, newest } = this.#sequence;
    const [key, ledgerId] = [this.#keyNow(), this.#ledgerId];
    if (key === null || ledgerId === null) throw new Error('there is no key, or the ledger has no identity');
    if (keys.size > 0 && !keys.has(key.keyId))
      throw new UnusableKeyError(
        `the ledger knows the keys ${[...keys.keys()].join(', ')}, and none of them has introduced ${key.keyId}: ` +
          `give this gateway the newest of them, and start it again; where that is lost, \`${this.#options.replaceLost}\``,
      );
    const inOrder = [...keys.keys()];
    // Until then it goes on: between a rotation and the first seal by the next key nothing would be sealed.
    if (newest !== null && inOrder.indexOf(key.keyId) < inOrder.indexOf(newest.keyId))
      throw new UnusableKeyError(
        `the ledger is sealed by the key ${newest.keyId}, which has followed ${key.keyId}: give this gateway that one, ` +
          'and start it again',
      );
    const { seal, ...range } = this.#sequence.next();
    // Whoever introduced the key, or sealed before, may have had a clock that was ahead of this one.
    const sealedAt = latestOf(now, keys.get(key.keyId)?.validFrom ?? '', newest?.sealedAt ?? '');
    const data = { seal, ledgerId, ...range, sealedAt, keyId: key.keyId };
    const sealed: DomainEvent = { type: 'LedgerSealed', data: { ...data, signature: key.sign(sealText(data)) } };
    if (keys.size > 0) return [sealed];
    return [{ type: 'SealKeyIntroduced', data: introductionOf(key, null, sealedAt) }, sealed];
  }

  /** What is written beside the log goes by what the log has. */
  #keep(): void {
    this.#keeping ??= this.#keepAll().finally(() => {
      this.#keeping = null;
    });
  }

  async #keepAll(): Promise<void> {
    const { dataFolder, logger } = this.#options;
    for (let through: Revision | null = null; through !== this.#sequence.revision; ) {
      through = this.#sequence.revision;
      const { frontier } = this.#sequence;
      try {
        if (frontier !== null) await writeFrontier(dataFolder, frontier);
      } catch (error) {
        logger.error(
          { err: error },
          'how far seals go could not be written beside the ledger; it is tried with the next one',
        );
      }
      await this.#copy();
    }
  }

  async #copy(): Promise<void> {
    const { copyTo, logger } = this.#options;
    try {
      await this.#copies?.add();
      this.#uncopied = null;
    } catch (error) {
      this.#uncopied = error instanceof Error ? error.message : String(error);
      const what = 'seals could not be written outside of the ledger; it is tried with the next one';
      logger.error({ err: error, copyTo }, what);
    }
  }

  #tell(error: unknown): void {
    if (isLogAway(error)) this.#options.logger.debug({ err: error }, 'the log was not sealed; it is tried again');
    else this.#stop(error);
  }

  #stop(error: unknown): void {
    if (this.#closing.signal.aborted || this.#stopped !== null) return;
    this.#stopped = error instanceof Error ? error.message : String(error);
    this.#disarm();
    this.#closing.abort();
    void this.#subscription?.close();
    this.#options.logger.error(whyOf(error), 'nothing more of the ledger is sealed by this gateway');
  }
}

type ReadLeaves = NonNullable<EventLog['readLeaves']>;

interface SealAhead {
  readonly recorded: RecordedEvent;
  /** As many events have to have come; 0 for a key. */
  readonly treeSize: number;
}

function treeSizeOf(recorded: RecordedEvent): number {
  const { type, data } = readSealEvent(recorded);
  return type === 'LedgerSealed' ? data.treeSize : 0;
}
