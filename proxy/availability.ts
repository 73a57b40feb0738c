import { type Refusal, refusal } from '../contracts/errors.ts';
import type { RequestId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import type { Journal, JournalObstacle } from '../ledger/journal/journal.ts';
import type { LogBreaker } from '../ledger/log-breaker.ts';
import type { Projections } from '../projections/projections.ts';
import type { ViewsLost } from '../projections/sources/view-source.ts';
import type { MachineShortages } from './machine-shortages.ts';

interface AvailabilityParts {
  readonly clock: () => number;
  /** Why the clock is not to be relied on; null where it is. */
  readonly clockDoubt: () => string | null;
  /** Why the ledger is not to be relied on; null where it is. */
  readonly ledgerDoubt: () => string | null;
  /** Why what costs anything is refused, whatever else is admitted; null where it is not. */
  readonly claimDoubt: () => string | null;
  /** Which models are admitted and can only fail, for want of a provider; null where none. */
  readonly unserved: () => string | null;
  /** That no account is of the product that is served (unserved-product.ts); null where some is. */
  readonly unservedProduct: () => string | null;
  /** Why new messages and counts are refused for the moment (loop-delay.ts); null where they are not. */
  readonly shedding: () => string | null;
  readonly projections: Pick<Projections, 'ageMs' | 'isLive' | 'lost'>;
  readonly breaker: Pick<LogBreaker, 'awaySinceMs'>;
  readonly journal: Pick<Journal, 'obstacle'>;
  readonly shortages: Pick<MachineShortages, 'describe' | 'blocked'>;
  readonly source: 'log' | 'kafka';
  /** `projections.maxAgeMs` of the configuration. */
  readonly viewsAgeMsMax: number;
  /** `journal.maxBytes` of the configuration. */
  readonly journalBytesMax: number;
}

/** An outage ends when it ends; SDKs take this as it is, so it is small. */
export const OUTAGE_RETRY_S = 5;
const SOON_S = 1;
/** What lacks, the gateway's log says: callers are told of no other account. */
const BEHIND = 'its relay is away or behind';
const LOG_AWAY = 'the event log is away';
/** Views that come from Kafka, before they have been live. */
const WAITS_FOR: Readonly<Record<ViewsLost, string>> = {
  source: 'the source of the views is away',
  missing: 'there is no topic yet for the views to come from (`gateway relay` makes it)',
  behind: `the source of the views lacks events of it (${BEHIND})`,
  log: LOG_AWAY,
};
/** The same once they have. A log that was away is back before the views have been compared with it. */
const HAVE_BEEN: Readonly<Record<ViewsLost, string>> = {
  source: 'the source of the views has been away',
  missing: 'there has been no topic for the views to come from',
  behind: 'the source of the views has been behind the ledger',
  log: 'the views have not been compared with the event log',
};

/**
 * The one place that decides whether requests can be admitted at all, and says why not.
 *
 *   starting ──▶ serving ──▶ stopping        while serving without the log: degraded, up to the age of the views and
 *                                            the size of the journal; past either every request is refused
 *                                            (so it is while the clock is in doubt)
 *
 * Load that is shed is told as degraded, and does not end readiness: it is over within seconds, and whatever makes one
 * gateway shed makes its neighbours do so. A load balancer that took them all out would turn a part refused into an outage,
 * and the next moment send everything to the first that comes back.
 */
export class Availability {
  readonly #parts: AvailabilityParts;
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  #fault: string | null = null;
  #isEnding = false;
  #isFenced = false;
  readonly #stuck = new Set<RequestId>();

  constructor(parts: AvailabilityParts) {
    this.#parts = parts;
  }

  /** From here on requests are admitted, as far as views and journal allow. */
  serve(): void {
    if (this.#phase === 'starting') this.#phase = 'serving';
  }

  stop(): void {
    this.#phase = 'stopping';
  }

  /** Nothing is admitted any more, whatever becomes of the rest. */
  fail(fault: string): void {
    this.#isEnding = true;
    this.#fault = fault;
  }

  /** Another process has this one's name: what is under way is settled, and nothing more is admitted. */
  fence(why: string): void {
    this.#isFenced = true;
    this.#fault ??= why;
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** This program cannot settle a request: its credit stays held and the journal keeps it, and all others go on. */
  cannotSettle(requestId: RequestId): void {
    this.#stuck.add(requestId);
  }

  /** How many requests that is, since the start. */
  get stuckCount(): number {
    return this.#stuck.size;
  }

  /**
   * Why the process is not healthy; null where it is, or where what is amiss may pass soon, or is not the process's own (a
   * log that is away). It is not once it is about to end, or could take down no usage for `unhealthyAfterMs`.
   */
  unhealthy(): string | null {
    if (this.#isEnding) return this.#fault;
    const blocked = this.#parts.shortages.blocked();
    return blocked !== null && blocked.forMs >= LIMITS.unhealthyAfterMs ? blocked.what : null;
  }

  /** What of the machine there is too little of, whether or not requests are admitted; null where nothing. */
  shortage(): string | null {
    return this.#parts.shortages.describe();
  }

  get isServing(): boolean {
    return this.#phase === 'serving';
  }

  /** Whether new requests are admitted at the moment: neither refused nor shed. */
  get isAdmitting(): boolean {
    return this.#parts.shedding() === null && this.refuse() === null;
  }

  /** Why no request can be admitted now, as it is answered; null when it can. Asked for every request. */
  refuse(): Refusal | null {
    const { projections, journal } = this.#parts;
    const { clockDoubt, ledgerDoubt } = this.#parts;
    const isWhole =
      this.#phase === 'serving' && this.#fault === null && clockDoubt() === null && ledgerDoubt() === null;
    return isWhole && projections.isLive && journal.obstacle === null ? null : this.#refuse();
  }

  /** Why nobody can be told whether a key is known: the views may be older than the key. Null when they are not. */
  refuseUnknown(): Refusal | null {
    const { projections, clock } = this.#parts;
    if (projections.isLive) return null;
    const ageMs = projections.ageMs(clock());
    if (ageMs === null || this.#phase === 'starting') return this.#starting();
    return refusal(
      'gateway_overloaded',
      `${this.#whatIsAway()}: a key that was issued since is not known here yet`,
      OUTAGE_RETRY_S,
    );
  }

  /** What is amiss while requests are admitted all the same; null where nothing is, or where none is admitted. */
  degraded(): string | null {
    if (this.refuse() !== null) return null;
    const amiss = [
      this.#outage(),
      this.#parts.shedding(),
      this.shortage(),
      this.#stuckRequests(),
      this.#parts.claimDoubt(),
      this.#parts.unserved(),
      this.#parts.unservedProduct(),
    ].filter((what) => what !== null);
    return amiss.length === 0 ? null : amiss.join('; ');
  }

  #outage(): string | null {
    const away = this.#whatIsAway();
    if (away === '') return null;
    if (this.#parts.projections.isLive) return `${away}; usage waits in the journal`;
    return `${away}; requests are admitted by the views of then, and usage waits in the journal`;
  }

  /** One is named, the log names all. */
  #stuckRequests(): string | null {
    const [first] = this.#stuck;
    if (first === undefined) return null;
    const others = this.#stuck.size === 1 ? '' : ` and ${this.#stuck.size - 1} more`;
    return `${first}${others} cannot be settled: the credit stays held, and the journal keeps it for the next start`;
  }

  #refuse(): Refusal | null {
    if (this.#fault !== null) return refusal('not_ready', this.#fault, OUTAGE_RETRY_S);
    if (this.#phase === 'stopping') return refusal('not_ready', 'the gateway is stopping', SOON_S);
    const nowMs = this.#parts.clock();
    const ageMs = this.#parts.projections.ageMs(nowMs);
    if (this.#phase === 'starting' || ageMs === null) return this.#starting();
    const { viewsAgeMsMax, journal, clockDoubt, ledgerDoubt } = this.#parts;
    const doubt = clockDoubt() ?? ledgerDoubt();
    if (doubt !== null) return refusal('gateway_overloaded', doubt, OUTAGE_RETRY_S);
    if (ageMs > viewsAgeMsMax)
      return refusal(
        'gateway_overloaded',
        `${this.#whatIsAway()}: the views are older than the ${seconds(viewsAgeMsMax)} of projections.maxAgeMs`,
        OUTAGE_RETRY_S,
      );
    const { obstacle } = journal;
    return obstacle === null ? null : refusal('gateway_overloaded', this.#journalFull(obstacle), OUTAGE_RETRY_S);
  }

  #starting(): Refusal {
    const { lost } = this.#parts.projections;
    const why = lost === null ? '' : `: ${this.#parts.source === 'log' ? LOG_AWAY : WAITS_FOR[lost]}`;
    return refusal('not_ready', `the gateway is catching up with its ledger${why}`, SOON_S);
  }

  #journalFull(obstacle: JournalObstacle): string {
    switch (obstacle) {
      case 'bytesMax':
        return `the journal of usage has reached the ${this.#parts.journalBytesMax} bytes of journal.maxBytes${this.#logAwayClause()}`;
      case 'unfinishedMax':
        return 'too many requests are under way';
      case 'disk':
        return `the disk has no room for the journal of usage${this.#logAwayClause()}`;
      case 'descriptors':
        return 'the process has no file descriptor left for the journal of usage';
      case 'failed':
      case 'closed':
        return 'the journal of usage cannot be written';
      default:
        return obstacle satisfies never;
    }
  }

  #logAwayClause(): string {
    const awayMs = this.#logAwayMs();
    return awayMs === null ? '' : `: the event log has been away for ${seconds(awayMs)}`;
  }

  /** Null where it is in sight. Views that read it themselves may not have since before this process. */
  #logAwayMs(): number | null {
    const { clock, source, breaker, projections } = this.#parts;
    const nowMs = clock();
    const isUnread = source === 'log' && !projections.isLive;
    if (breaker.awaySinceMs === null && !isUnread) return null;
    return Math.max(nowMs - (breaker.awaySinceMs ?? nowMs), isUnread ? (projections.ageMs(nowMs) ?? 0) : 0);
  }

  /** What of log and source has been away, and how long; empty where both are there. */
  #whatIsAway(): string {
    const { clock, source, projections } = this.#parts;
    const logMs = this.#logAwayMs();
    const away = logMs === null ? [] : [`the event log has been away for ${seconds(logMs)}`];
    const viewsFor = seconds(projections.ageMs(clock()) ?? 0);
    const { lost } = projections;
    if (source === 'kafka' && !projections.isLive && (lost !== 'log' || logMs === null))
      away.push(`${HAVE_BEEN[lost ?? 'source']} for ${viewsFor}${lost === 'behind' ? ` (${BEHIND})` : ''}`);
    return away.join(', and ');
  }
}

/** Whole seconds, rounded up: an outage is never told shorter than it is. */
const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`;
