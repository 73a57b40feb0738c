import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { describeForms, type Forms, OWN_FORMS } from '../contracts/event-forms.ts';
import { type EventLog, isLogAway } from '../contracts/event-log.ts';
import type { Position } from '../contracts/ids.ts';
import { adoptForms, formsToAdopt, typesBeyondBase } from '../ledger/forms/adopt-forms.ts';
import { type FormsStanding, readClaims, readRelayClaim, type SeenClaim, standingOf } from '../ledger/forms/claims.ts';
import { FORMS_LIMITS } from '../ledger/forms/limits.ts';
import { readLedgerState } from '../ledger/identity/ledger-state.ts';
import { pause } from '../ledger/pause.ts';
import { recordingBy } from '../ledger/recording-by.ts';

interface FormsAdoptionOptions {
  readonly log: EventLog;
  readonly clock: () => number;
  readonly logger: Logger;
  /** Whose relay is asked as well; null where the configuration names none. */
  readonly topic: string | null;
  /** For so long every live claim has to have read a form before it is adopted: meanwhile programs can be rolled back. */
  readonly afterMs: number;
  /** Whether the clock, the ledger and this process's claim are such that anything may be written for good. */
  readonly mayWrite: () => boolean;
  /** What this program reads. */
  readonly own?: Forms;
}

type AdoptionLook = 'nothing to adopt' | 'waits' | 'adopted';

/** Adopts forms that this program would write once all read them; looks every few minutes while there are any. */
export class FormsAdoption {
  readonly #options: FormsAdoptionOptions;
  readonly #startedMs: number;
  readonly #closing = new AbortController();
  #following: Promise<void> | null = null;
  readonly #claims: SeenClaim[] = [];
  /** The claims up to here are known. */
  #seenUpTo: Position | null = null;
  /** What was last said to be in the way. */
  #lastReported = '';

  constructor(options: FormsAdoptionOptions) {
    this.#options = options;
    this.#startedMs = options.clock();
  }

  /** Idempotent. */
  start(): void {
    if (typesBeyondBase(this.#options.own ?? OWN_FORMS).size > 0) this.#following ??= this.#follow();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#following;
  }

  /** @throws EventLogError, UnreadableEventError, UnreadFormsError */
  async look(): Promise<AdoptionLook> {
    const { log, clock, afterMs, mayWrite, own = OWN_FORMS, logger } = this.#options;
    const forms = formsToAdopt(await readLedgerState(log, own), own);
    if (forms === null) return 'nothing to adopt';
    const standing = standingOf(await this.#newestClaims(), forms);
    const nowMs = clock();
    const sinceMs = standing.sinceMs ?? this.#startedMs;
    this.#report(forms, standing, sinceMs + afterMs);
    if (standing.inTheWay.length > 0 || nowMs - sinceMs < afterMs || !mayWrite()) return 'waits';
    const recording = recordingBy('gateway', nowMs);
    await adoptForms(log, { forms, without: [], reason: 'every live claim reads them', recording }, own);
    logger.info(
      { forms },
      'the ledger has adopted forms of events that every live proxy reads; older programs refuse it',
    );
    return 'adopted';
  }

  /** The log looks through all of its events for them: only once through each. */
  async #newestClaims(): Promise<readonly SeenClaim[]> {
    const { log } = this.#options;
    const head = await log.headPosition();
    const claims = await readClaims(log, this.#seenUpTo);
    this.#claims.push(...claims);
    const last = claims.at(-1)?.position ?? null;
    this.#seenUpTo = last !== null && (head === null || last > head) ? last : head;
    await this.#askRelay();
    return this.#claims;
  }

  /** It renews its claim every few seconds: kept is what has changed in what it says. */
  async #askRelay(): Promise<void> {
    const { log, topic, clock } = this.#options;
    const claim = topic === null ? null : await readRelayClaim(log, topic, clock());
    if (claim === null) return;
    const before = this.#claims.findLast(({ proxy }) => proxy === claim.proxy);
    const isNews = before === undefined ? !claim.hasEnded : !isDeepStrictEqual(saidBy(before), saidBy(claim));
    if (isNews) this.#claims.push(claim);
  }

  async #follow(): Promise<void> {
    const { logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        if ((await this.look()) !== 'waits') return;
      } catch (error) {
        if (signal.aborted) return;
        const what = 'whether new forms of events can be written could not be looked up; it is tried again';
        logger[isLogAway(error) ? 'debug' : 'warn']({ err: error }, what);
      }
      await pause(FORMS_LIMITS.claimsLookMs, signal);
    }
  }

  /** Once, and again when it is somebody else. */
  #report(forms: Forms, { inTheWay }: FormsStanding, fromMs: number): void {
    const names = inTheWay.map(({ proxy }) => proxy);
    const waitsFor = names.length > 0 ? names.join(', ') : `the time until ${new Date(fromMs).toISOString()}`;
    if (waitsFor === this.#lastReported) return;
    this.#lastReported = waitsFor;
    const what = 'new forms of events are not written yet: `gateway ledger forms` shows who does not read them';
    this.#options.logger.info({ forms: describeForms(forms), waitsFor }, what);
  }
}

const saidBy = ({ reads, hasEnded }: SeenClaim): unknown => ({ reads, hasEnded });
