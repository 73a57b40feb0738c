import { checkRecorded } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import {
  type AccountId,
  accountOfStream,
  accountStream,
  CATALOG_STREAM,
  LEDGER_STREAM,
  type StreamName,
} from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { AccountAudit } from './account-audit.ts';
import { auditInstants } from './audit-instants.ts';
import type { ReversalOfStream } from './audit-reversals.ts';
import type { SeenFigures } from './audit-views.ts';
import type { Fault } from './fault.ts';
import { LeftBehind } from './left-behind.ts';
import { onceOnlyIn, Prints } from './once-only.ts';
import { OwnCatalog } from './own-catalog.ts';
import { OwnStreams } from './own-streams.ts';
import { isBefore } from './own-times.ts';
import type { StoredEvent } from './stored-event.ts';

interface AuditOptions {
  readonly onFault: (fault: Fault) => void;
  /** Where several look at a part of the accounts each: whether this one looks at everything else, too. */
  readonly isFirst?: boolean;
  /** What views say of an account, to be compared at the revision that they have come to; null where they do not know it. */
  readonly viewsOf?: (accountId: string) => SeenFigures | null;
}

/** What was looked at, and what of it must stand in no other part, either. */
export interface Audited {
  readonly events: number;
  readonly accounts: number;
  readonly prints: BigUint64Array<ArrayBuffer>;
  /** Where the ledger has gone on, which has left this log. */
  readonly movedTo?: string;
  /** What is to be compared with the debits that it names, by a second look (audit-reversals.ts). */
  readonly reversals: readonly ReversalOfStream[];
}

/**
 * Re-derives a ledger from its events alone, in log order: each account by its own audit, prices from the catalog's own
 * events. A second implementation: of the product it knows the schemas and nothing of what writes.
 */
export class LedgerAudit {
  readonly #onFault: (fault: Fault) => void;
  readonly #catalog = new OwnCatalog();
  readonly #streams = new OwnStreams();
  /** By stream; null for one that is of no account. */
  readonly #accounts = new Map<StreamName, AccountAudit | null>();
  #accountCount = 0;
  /** What stands in the log behind a move of the ledger to another one. */
  readonly #leftBehind = new LeftBehind();
  #movedTo: Pick<Audited, 'movedTo'> = {};
  /** Until when what began may rest on what was lost: the newest loss that was accepted; '' where there was none. */
  #lostUntil = '';
  readonly #prints = new Prints();
  readonly #isFirst: boolean;
  readonly #viewsOf: (accountId: string) => SeenFigures | null;
  events = 0;

  constructor({ onFault, isFirst = true, viewsOf = () => null }: AuditOptions) {
    this.#viewsOf = viewsOf;
    this.#onFault = onFault;
    this.#isFirst = isFirst;
  }

  take(event: RecordedEvent): void {
    const { stream } = event;
    const account = this.#accountOf(stream);
    this.#leftBehind.take(event, account !== null || this.#isFirst);
    if (account === null && !this.#isFirst) {
      this.#takeQuietly(event);
      return;
    }
    this.events++;
    this.#prints.add(event.id);
    const tellHere: Told = (what, found, expected) => this.#tellOf(event, what, found, expected);
    const stored = readStored(event, tellHere);
    if (stored !== null) auditInstants(stored, tellHere);
    if (account === null) {
      this.#streams.take(event, stored, tellHere);
      if (stored !== null) this.#takeForAccounts(stream, stored, tellHere);
      if (stored?.type === 'LedgerMoved') this.#movedTo = { movedTo: (stored.data as { readonly to: string }).to };
      if (stored?.type === 'LedgerIdentified') this.#movedTo = {};
      return;
    }
    if (stored !== null)
      for (const [, text] of onceOnlyIn(stored.type, stored.data as Record<string, unknown>)) this.#prints.add(text);
    if (stored === null) account.skip(event);
    else account.take(stored);
    this.#hand(stream, account);
  }

  /** When there are no more. */
  end(): Audited {
    const reversals: ReversalOfStream[] = [];
    for (const [stream, account] of this.#accounts) {
      if (account === null) continue;
      account.end();
      reversals.push(...account.books.reversals.map((one) => ({ ...one, stream })));
      this.#hand(stream, account);
    }
    for (const { event, more } of this.#leftBehind.all()) {
      const others = more === 0 ? '' : ` and ${more} more behind it`;
      this.#tellOf(event, `${event.type}${others} of a ledger that has moved to another log`);
    }
    return {
      ...{ events: this.events, accounts: this.#accountCount, prints: this.#prints.all(), reversals },
      ...this.#movedTo,
    };
  }

  /** The last revision of an account's stream that was looked at; null where there was none. */
  revisionOf(accountId: AccountId): number | null {
    return this.#accounts.get(accountStream(accountId))?.books.revision ?? null;
  }

  #accountOf(stream: StreamName): AccountAudit | null {
    const known = this.#accounts.get(stream);
    return known === undefined ? this.#first(stream) : known;
  }

  #first(stream: StreamName): AccountAudit | null {
    const accountId = accountOfStream(stream);
    const account =
      accountId === null
        ? null
        : new AccountAudit(accountId, this.#catalog.cardOf, {
            seen: this.#viewsOf(accountId),
            planOf: this.#catalog.planOf,
            isOfLost: (startedAt) => this.#lostUntil !== '' && !isBefore(this.#lostUntil, startedAt),
          });
    this.#accounts.set(stream, account);
    if (account !== null) this.#accountCount++;
    return account;
  }

  /** Another part tells what is wrong with them. */
  #takeQuietly(event: RecordedEvent): void {
    if (event.type !== 'CatalogPublished' && event.type !== 'LossAccepted') return;
    const stored = readStored(event, () => {});
    if (stored !== null) this.#takeForAccounts(event.stream, stored, () => {});
  }

  /** Prices, and what was lost. */
  #takeForAccounts(stream: StreamName, stored: StoredEvent, tellHere: Told): void {
    const { type, metadata } = stored;
    if (stream === CATALOG_STREAM && type === 'CatalogPublished') this.#catalog.take(stored, tellHere);
    if (stream === LEDGER_STREAM && type === 'LossAccepted') this.#lostUntil = metadata?.recordedAt ?? '';
  }

  #hand(stream: string, { books }: AccountAudit): void {
    if (books.faults.length === 0) return;
    for (const fault of books.faults) this.#tell({ stream, ...fault });
    books.faults = [];
  }

  #tellOf(
    { stream, revision }: Pick<RecordedEvent, 'stream' | 'revision'>,
    what: string,
    found: unknown = null,
    expected: unknown = null,
  ): void {
    this.#tell({ stream, revision, what, found: textOf(found), expected: textOf(expected) });
  }

  #tell(fault: Fault): void {
    this.#onFault(fault);
  }
}

type Told = (what: string, found?: unknown, expected?: unknown) => void;

const textOf = (value: unknown): string | null => (value === null ? null : String(value));

/** Null for one that the schema of its version does not take: then nothing in it can be relied on. */
function readStored(event: RecordedEvent, told: Told): StoredEvent | null {
  try {
    const { metadata, stored: data, isAsWritten } = checkRecorded(event);
    if (!isAsWritten) told('is not as it is written: a name stands in it twice, or something between');
    if (!isOfCommand(event.id, metadata.commandId)) told('event id is of no event of its command', event.id);
    return { revision: event.revision, position: event.position, id: event.id, type: event.type, data, metadata };
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    told(`cannot be read: ${error.message}`);
    return null;
  }
}

/** An event's id is its command's, with its place among the command's events added to the last four digits. */
const isOfCommand = (id: string, command: string): boolean =>
  id.length === command.length && id.startsWith(command.slice(0, -4)) && LAST_DIGITS.test(id);

const LAST_DIGITS = /[0-9a-f]{4}$/;
