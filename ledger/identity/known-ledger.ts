import type { EventId, StreamName } from '../../contracts/ids.ts';
import type { LedgerIdentity } from './ledger-state.ts';

/** One event that must be in the ledger, because it was seen there. */
export interface KnownEvent {
  readonly stream: StreamName;
  readonly revision: number;
  /** Null where only the revision was kept. */
  readonly id: EventId | null;
}

/** What something beside the ledger knows of it: the views' file, the journal, or the folder's own note. */
export interface LedgerKnowledge {
  /** As an operator is told: a file's name. */
  readonly source: string;
  /** Null where it was written before ledgers had one. */
  readonly identity: LedgerIdentity | null;
  readonly events: readonly KnownEvent[];
}

/** What the newest of all claims on one stream says, and who makes it. */
export interface Claim extends KnownEvent {
  readonly knownBy: readonly string[];
}

/** For each stream the newest event that anybody knows, and for each event that is known by its id that one, too. */
export function claimsOf(all: readonly LedgerKnowledge[]): Claim[] {
  const newest = new Map<StreamName, Claim>();
  const byId: Claim[] = [];
  for (const { source, events } of all)
    for (const event of events) {
      const known = newest.get(event.stream);
      if (event.id !== null) byId.push({ ...event, knownBy: [source] });
      if (known === undefined || known.revision < event.revision)
        newest.set(event.stream, { ...event, knownBy: [source] });
      else if (known.revision === event.revision && !known.knownBy.includes(source))
        newest.set(event.stream, { ...known, id: known.id ?? event.id, knownBy: [...known.knownBy, source] });
    }
  return [...newest.values(), ...byId.filter(({ stream, revision }) => newest.get(stream)?.revision !== revision)];
}
