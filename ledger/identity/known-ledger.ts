import type { EventId, StreamName } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';

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
  /** Streams that it knows, too, and that are too many to be compared one by one. */
  readonly notCompared?: number;
}

/** A revision of a stream that is known, and by whom. */
export interface KnownRevision extends KnownEvent {
  readonly knownBy: readonly string[];
}

/** For each stream the newest event that anybody knows, and for each event that is known by its id that one, too. */
export function revisionsKnown(all: readonly LedgerKnowledge[]): KnownRevision[] {
  const newest = new Map<StreamName, KnownRevision>();
  const byId: KnownRevision[] = [];
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

/** Of several revisions of one stream the last: what it lacks includes what the others do. */
export function newestOfEach(known: readonly KnownRevision[]): ReadonlySet<KnownRevision> {
  const newest = new Map<StreamName, KnownRevision>();
  for (const one of known) if ((newest.get(one.stream)?.revision ?? -1) < one.revision) newest.set(one.stream, one);
  return new Set(newest.values());
}
