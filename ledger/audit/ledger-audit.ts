import { decodeRecorded, UnreadableEventError } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { accountOfStream, CATALOG_STREAM, type CommandId, eventIdOf } from '../../contracts/ids.ts';
import { AccountAudit } from './account-audit.ts';
import type { SeenFigures } from './audit-views.ts';
import type { Fault } from './fault.ts';
import { Prints } from './once-only.ts';
import { OwnCatalog } from './own-catalog.ts';
import type { StoredEvent, UsageData } from './stored-event.ts';

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
}

/**
 * Re-derives a ledger from its events alone, in log order: each account by its own audit, prices from the catalog's own
 * events. A second implementation: of the product it knows the schemas and nothing of what writes.
 */
export class LedgerAudit {
  readonly #onFault: (fault: Fault) => void;
  readonly #catalog = new OwnCatalog();
  readonly #accounts = new Map<string, AccountAudit>();
  readonly #revisions = new Map<string, number>();
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
    const { stream, revision } = event;
    const accountId = accountOfStream(stream);
    if (accountId === null && !this.#isFirst) {
      this.#takePrices(event);
      return;
    }
    this.events++;
    const tellHere = (what: string, found: unknown = null, expected: unknown = null): void =>
      this.#tell({ stream, revision, what, found: textOf(found), expected: textOf(expected) });
    const stored = readStored(event, tellHere);
    this.#prints.add(event.id);
    if (accountId === null) {
      const due = (this.#revisions.get(stream) ?? -1) + 1;
      if (revision !== due) tellHere(`revision ${revision} follows ${due - 1}`);
      this.#revisions.set(stream, revision);
      if (stream === CATALOG_STREAM && stored !== null) this.#catalog.take(stored, tellHere);
      return;
    }
    const known = this.#accounts.get(accountId);
    const account = known ?? new AccountAudit(accountId, this.#catalog.cardOf, this.#viewsOf(accountId));
    if (known === undefined) this.#accounts.set(accountId, account);
    if (stored?.type === 'UsageRecorded') this.#prints.add((stored.data as UsageData).requestId);
    if (stored === null) account.skip(event);
    else account.take(stored);
    this.#hand(stream, account);
  }

  /** When there are no more. */
  end(): Audited {
    for (const [accountId, account] of this.#accounts) {
      account.end();
      this.#hand(`account-${accountId}`, account);
    }
    return { events: this.events, accounts: this.#accounts.size, prints: this.#prints.all() };
  }

  /** Another part tells what is wrong with them. */
  #takePrices(event: RecordedEvent): void {
    if (event.stream !== CATALOG_STREAM) return;
    const stored = readStored(event, () => {});
    if (stored !== null) this.#catalog.take(stored, () => {});
  }

  #hand(stream: string, { books }: AccountAudit): void {
    if (books.faults.length === 0) return;
    for (const fault of books.faults) this.#tell({ stream, ...fault });
    books.faults = [];
  }

  #tell(fault: Fault): void {
    this.#onFault(fault);
  }
}

const textOf = (value: unknown): string | null => (value === null ? null : String(value));

/** Null for one that the schema of its version does not take: then nothing in it can be relied on. */
function readStored(event: RecordedEvent, told: (what: string, found?: unknown, expected?: unknown) => void) {
  try {
    const { metadata, stored: data } = decodeRecorded(event);
    auditId(event, metadata.commandId as CommandId, told);
    const stored: StoredEvent = {
      ...{ revision: event.revision, position: event.position, id: event.id, type: event.type },
      ...{ data, metadata },
    };
    return stored;
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error;
    told(`cannot be read: ${error.message}`);
    return null;
  }
}

/** An event's id is its command's, with its place among the command's events added. */
function auditId({ id }: RecordedEvent, command: CommandId, told: (what: string, found?: unknown) => void): void {
  const index = (Number.parseInt(id.slice(-4), 16) - Number.parseInt(command.slice(-4), 16)) & 0xffff;
  if (eventIdOf(command, index) !== id) told('event id is of no event of its command', id);
}
