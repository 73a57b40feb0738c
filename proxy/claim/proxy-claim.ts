import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, formsBeyond, OWN_FORMS } from '../../contracts/event-forms.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { NO_STREAM, type ProxyId, proxyStream, type Revision } from '../../contracts/ids.ts';
import { pause } from '../../ledger/pause.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { type Moment, NEVER, type TimePassed } from '../clock/time-passed.ts';
import { proxyIdOf, takeNewProxyId } from '../proxy-id.ts';
import { type KeptClaim, keepClaims, readKeptClaims } from './claim-file.ts';
import { isSamePlace } from './folder-identity.ts';
import { type RecordedClaim, readClaim } from './read-claim.ts';

/** Between two looks whether another has claimed the name: well within the second in which it must be noticed. */
const WATCH_MS = 400;
const INSTANCE_BYTES = 16;

interface ProxyClaimOptions {
  readonly log: EventLog;
  readonly dataFolder: string;
  /** Of folder-identity.ts. */
  readonly folder: string;
  /** Whether there can be no other proxy: then there is no other name either, and the newest process has the one there is. */
  readonly isOnly: boolean;
  readonly clock: () => number;
  readonly passed: TimePassed;
  readonly logger: Logger;
  /** Another process has claimed the name after this one: it admits nothing from here on. */
  readonly onFenced: (by: RecordedClaim) => void;
  /** Which forms of events this process reads: nothing else is written while its claim is live. */
  readonly reads?: Forms;
}

/** What a process may call its own. */
export interface Claim {
  readonly proxy: ProxyId;
  readonly epoch: number;
  /** Claims from this epoch on were of this very folder, whose lock this one has: theirs is its own. */
  readonly ownsFrom: number;
  /** When the name was taken over from a process that may still be alive, as of the last that did; null where none can be. */
  readonly takenOverAtMs: number | null;
}

/**
 * One name, one proxy. A data folder has a name, but a folder can be copied. So a process claims its name in the log,
 * at an expected revision, under an epoch that is greater than any before; the newest claim has the name, and an older
 * process that is still there is fenced.
 *
 *   who starts                                    what it finds                             what it does
 *   again in its folder (stopped, killed)         its own claim, the same folder            next epoch, owns the earlier ones
 *   a copy, the original running or dead          the original's claim, another folder      next epoch, owns nothing earlier;
 *                                                                                           a running original is fenced
 *   the original again, after its copy            the copy's claim                          a new name, owns what it had
 *   two copies at once                            one claim is first, the other conflicts   the second: a new name
 *   a restored backup, a copy of a copy           a claim that it never made                a new name
 *   a cloned disk, the machine started again      its own claim, another kernel             next epoch, owns nothing earlier
 *
 * Where there can be one proxy only (`proxies: one`) nobody takes a new name: two names would both have all credit. Who
 * finds another's claim takes the name over from it, the newest has it, and whoever had it is fenced. Without leases
 * nothing tells what the older one still admits before it notices, so the newer one waits (claim-doubt.ts).
 *
 * What is not owned is left to its own process, or to the clock: a lease until it expires, a request without an end
 * until it can be under way no more. Ends that the journal has are settled in any case, for the ledger takes each
 * request once. Leases carry their epoch, so two processes of one name never admit under the same one, whether or not
 * the older has noticed yet.
 */
export class ProxyClaim {
  readonly #options: ProxyClaimOptions;
  readonly #closing = new AbortController();
  #claim: KeptClaim | null = null;
  /** Where the claim stands in the name's stream. */
  #revision: Revision = NO_STREAM;
  #seenAt: Moment = NEVER;
  #watching: Promise<void> | null = null;

  constructor(options: ProxyClaimOptions) {
    this.#options = options;
  }

  /** Null before the log has taken it. */
  get current(): Claim | null {
    return this.#claim;
  }

  /** Whether what was admitted under an epoch can have no other process any more than this one. */
  owns(epoch: number): boolean {
    return this.#claim !== null && epoch >= this.#claim.ownsFrom;
  }

  /** The newest moment at which the log is known to have had no newer claim. */
  get seenAt(): Moment {
    return this.#seenAt;
  }

  /** Claims the folder's name, or a new one; waits for a log that is away. @throws Error when closed meanwhile. */
  async take(): Promise<Claim> {
    const { logger, dataFolder } = this.#options;
    const wait = {
      signal: this.#closing.signal,
      onFirst: (error: Error) =>
        logger.warn({ err: error }, 'the event log does not answer; the name of this proxy waits'),
    };
    while (this.#claim === null) this.#claim = await untilLogAnswers(() => this.#tryOnce(), wait);
    const { proxy, epoch, ownsFrom, takenOverAtMs } = this.#claim;
    logger.info({ proxy, epoch, ownsFrom, takenOverAtMs, dataFolder }, 'the name of this proxy is claimed');
    this.#watching ??= this.#watch(this.#claim);
    return this.#claim;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
  }

  /**
   * Says in the log that this process has stopped in order and reads nothing of it any more, so that nobody waits for it with
   * a new form. Where another has claimed the name since, that says so, too. @throws EventLogError
   */
  async sayEnded(): Promise<void> {
    if (this.#claim !== null) await this.#append(this.#claim, this.#revision, { ended: true });
  }

  /** This process has nothing under way any more that its folder does not have: said to whoever starts on a copy of it. */
  ended(): void {
    if (this.#claim !== null) keepClaims(this.#options.dataFolder, [{ ...this.#claim, hasEnded: true }]);
  }

  /** Null where another was first: what it has claimed is looked at next. */
  async #tryOnce(): Promise<KeptClaim | null> {
    const { log, dataFolder, clock, passed, isOnly } = this.#options;
    const proxy = proxyIdOf(dataFolder, clock());
    const kept = readKeptClaims(dataFolder);
    const last = await readClaim(log, proxy);
    const own = kept.filter((claim) => claim.proxy === proxy && claim.instance === last?.instance);
    const isOfAnother = last !== null && own.length === 0;
    if (isOfAnother && !isOnly) {
      this.#takeNewName(proxy, kept, last);
      return null;
    }
    const takesOver = isOfAnother || this.#mayBeAlive(kept);
    const claim = this.#next({ proxy, kept, last, isOfAnother, takesOver });
    // Before the log has it: a crash in between must not make its own claim look like another's.
    keepClaims(dataFolder, [...(own.length > 0 ? own : kept.slice(0, 1)), claim]);
    const askedAt = passed.now();
    if (!(await this.#append(claim, last?.revision ?? NO_STREAM))) return null;
    this.#seenAt = askedAt;
    // Only from here on can the older one notice.
    const taken = takesOver ? { ...claim, takenOverAtMs: clock() } : claim;
    keepClaims(dataFolder, [taken]);
    return taken;
  }

  #takeNewName(proxy: ProxyId, kept: readonly KeptClaim[], { epoch }: RecordedClaim): void {
    const { dataFolder, clock, logger } = this.#options;
    // Claims stay: they say which epochs were this folder's.
    const renamed = takeNewProxyId(dataFolder, clock());
    if (kept.length === 0) keepClaims(dataFolder, [this.#unowned(proxy, epoch)]);
    logger.warn({ proxy, epoch, renamed }, 'another folder has claimed the name: this one takes a new one');
  }

  /**
   * Whether the process of the folder's last claim may be alive, because that was in another folder; or the name was to be
   * taken over from one before, and whether the log has that claim, and since when, is not known.
   */
  #mayBeAlive(kept: readonly KeptClaim[]): boolean {
    const newest = newestOf(kept);
    if (newest === undefined) return false;
    const mayRunElsewhere = !newest.hasEnded && !isSamePlace(newest.folder, this.#options.folder);
    return mayRunElsewhere || (newest.takenOverAtMs !== null && kept.length > 1);
  }

  #next({ proxy, kept, last, isOfAnother, takesOver }: ClaimAttempt): KeptClaim {
    const { folder, clock } = this.#options;
    // Also beyond those of an earlier name: a folder's epochs only grow, so that a request's says whose it was.
    const newest = newestOf(kept);
    const epoch = Math.max(newest?.epoch ?? 0, last?.epoch ?? 0) + 1;
    const instance = randomBytes(INSTANCE_BYTES).toString('hex');
    // A folder from before there were claims owns what it has.
    const owned = newest === undefined ? 0 : newest.folder === folder ? newest.ownsFrom : epoch;
    const takenOverAtMs = takesOver ? clock() : (newest?.takenOverAtMs ?? null);
    const ownsFrom = isOfAnother ? epoch : owned;
    return { proxy, epoch, instance, ownsFrom, folder, takenOverAtMs, hasEnded: false };
  }

  /** What a folder that has never claimed anything knows when its name was claimed by a copy: nothing is its own. */
  #unowned(proxy: ProxyId, epoch: number): KeptClaim {
    const folder = 'another folder';
    return {
      proxy,
      epoch,
      instance: 'of another folder',
      ownsFrom: epoch,
      folder,
      takenOverAtMs: null,
      hasEnded: false,
    };
  }

  async #append(claim: KeptClaim, expected: Revision, ended: { readonly ended?: true } = {}): Promise<boolean> {
    const { log, clock, reads = OWN_FORMS } = this.#options;
    const { proxy, epoch, instance } = claim;
    const recording = { ...recordingBy(proxy, clock()), reads: formsBeyond(reads, BASE_FORMS), ...ended };
    const data = { proxy, epoch, instance, claimedAt: recording.recordedAt };
    const events = encodeEvents([{ type: 'ProxyClaimed', data }], recording);
    // An append that failed may have been written: the next look finds it, by the instance that the folder has kept.
    const result = await log.append(proxyStream(proxy), expected, events);
    if (result.type !== 'appended') return false;
    this.#revision = result.lastRevision;
    return true;
  }

  /** Looks at the stream's end again and again: it does not depend on where the views are fed from. */
  async #watch({ proxy, instance }: KeptClaim): Promise<void> {
    const { log, logger, passed, onFenced } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(WATCH_MS, signal);
      if (signal.aborted) return;
      try {
        const askedAt = passed.now();
        const last = await readClaim(log, proxy);
        if (last !== null && last.instance !== instance) return onFenced(last);
        this.#seenAt = askedAt;
      } catch (error) {
        // A log that is away tells nobody anything; leases of two epochs are not the same all the while.
        logger.debug({ err: error }, 'whether this proxy still has its name could not be looked up');
      }
    }
  }
}

/** What an attempt goes by. */
interface ClaimAttempt {
  readonly proxy: ProxyId;
  readonly kept: readonly KeptClaim[];
  readonly last: RecordedClaim | null;
  /** The newest claim of the name is none of this folder's. */
  readonly isOfAnother: boolean;
  readonly takesOver: boolean;
}

const newestOf = (kept: readonly KeptClaim[]): KeptClaim | undefined =>
  kept.toSorted((a, b) => a.epoch - b.epoch).at(-1);
