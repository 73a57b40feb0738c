import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, UsageRecorded } from '../../contracts/events.ts';
import type { AccountId, Revision } from '../../contracts/ids.ts';
import { accountEventOf } from '../account/account-event.ts';
import { AccountUnreadableError } from '../account/account-unreadable-error.ts';
import { PlansHad } from './plans-had.ts';
import { RunningBalance } from './running-balance.ts';
import { debitSentence, notesOn, sentenceOf } from './sentences.ts';
import { gapBefore, metadataOf, recordedAtOf } from './stream-range.ts';

/** A line of an account's statement. */
export interface StatementLine {
  readonly revision: Revision;
  /** RFC 3339; null where the event does not say it in a form that can be read. */
  readonly recordedAt: string | null;
  readonly sentence: string;
  /** Micro-USD, negative for what is taken; null where no money moves, or what moves cannot be read. */
  readonly amount: bigint | null;
  /** Micro-USD after it; null where it is not known. */
  readonly balance: bigint | null;
  /** What is amiss with the event; null where nothing is. */
  readonly fault: string | null;
}

/** Leases move no money: a statement counts them. */
const HOUSEKEEPING: ReadonlySet<AccountEvent['type']> = new Set(['CreditsLeased', 'LeaseReleased', 'LeaseNarrowed']);

/**
 * An account's stream as a statement, event after event from its first. A request is one line, its debit's. What cannot be
 * read has a line that says so, and the balance is unknown from there to the next event that says it.
 */
export class Statement {
  readonly #accountId: AccountId;
  /** Every event has a line of its own. */
  readonly #withAll: boolean;
  readonly #keyNames = new Map<string, string>();
  readonly #balance = new RunningBalance();
  readonly #plans = new PlansHad();
  #next = 0;
  /** The usage whose debit may be next. */
  #usage: { readonly usage: UsageRecorded; readonly line: StatementLine } | null = null;
  #leftOut = 0;
  #faults = 0;

  constructor(accountId: AccountId, { withAll }: { readonly withAll: boolean }) {
    this.#accountId = accountId;
    this.#withAll = withAll;
  }

  /** After the last event that was taken; null where it is not known. */
  get balance(): bigint | null {
    return this.#balance.value;
  }

  /** Events of leases that have no line. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** How many lines say that something is amiss. */
  get faults(): number {
    return this.#faults;
  }

  /** The lines that are complete with this event. */
  take(recorded: RecordedEvent): StatementLine[] {
    const missing = this.#missingBefore(recorded);
    const event = this.#read(recorded);
    if (typeof event === 'string') return [...this.end(), ...missing, this.#faulty(recorded, event)];
    return [...missing, ...this.#lineOf(recorded, event)];
  }

  /** What still waited for a further event. */
  end(): StatementLine[] {
    const waiting = this.#usage;
    this.#usage = null;
    return waiting === null ? [] : [waiting.line];
  }

  #missingBefore(recorded: RecordedEvent): StatementLine[] {
    const gap = gapBefore(this.#next, recorded);
    this.#next = recorded.revision + 1;
    return gap === null ? [] : [...this.end(), this.#faulty(recorded, gap)];
  }

  /** The event, or why it cannot be read. */
  #read(recorded: RecordedEvent): AccountEvent | string {
    try {
      return accountEventOf(this.#accountId, recorded);
    } catch (error) {
      if (error instanceof AccountUnreadableError) return `cannot be read: ${error.message}`;
      throw error;
    }
  }

  #faulty(recorded: RecordedEvent, fault: string): StatementLine {
    this.#faults++;
    this.#balance.lose();
    const { revision } = recorded;
    return { revision, recordedAt: recordedAtOf(recorded), sentence: fault, amount: null, balance: null, fault };
  }

  #lineOf(recorded: RecordedEvent, event: AccountEvent): StatementLine[] {
    if (event.type === 'ApiKeyIssued') this.#keyNames.set(event.data.keyId, `"${event.data.name}"`);
    this.#plans.take(event);
    const { amount, fault } = this.#balance.take(event);
    if (fault !== null) this.#faults++;
    const usage = this.#usage?.usage;
    const metadata = metadataOf(recorded);
    const isOfUsage = event.type === 'CreditsDebited' && usage?.requestId === event.data.requestId;
    const sentence = isOfUsage
      ? debitSentence(event.data, notesOn(usage))
      : (this.#plans.sentenceOf(event) ??
        sentenceOf(event, (keyId) => this.#keyNames.get(keyId) ?? keyId, metadata?.actor));
    const line: StatementLine = {
      revision: recorded.revision,
      recordedAt: metadata?.recordedAt ?? null,
      sentence: fault === null ? sentence : `${sentence}. ${fault}`,
      ...{ amount, balance: this.#balance.value, fault },
    };
    if (this.#withAll) return [line];
    if (isOfUsage) this.#usage = null;
    const before = this.end();
    if (event.type === 'UsageRecorded') this.#usage = { usage: event.data, line };
    else if (HOUSEKEEPING.has(event.type)) this.#leftOut++;
    else return [...before, line];
    return before;
  }
}
