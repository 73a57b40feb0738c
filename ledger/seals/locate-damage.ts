import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, SEALS_STREAM } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import { LeafHasher } from './leaf.ts';
import { type Digest, hexOf, MerkleTree } from './merkle.ts';
import type { LedgerSealed } from './seal-signature.ts';

/** Leaf hashes kept outside the log. */
export interface SealedLeaves {
  /** Of these ordinals; fewer where fewer were kept. */
  range(first: number, count: number): readonly Digest[];
}

/** The first event at which a range is not what was sealed. */
export interface DamagedEvent {
  readonly ordinal: number;
  /** What stands there now; null where the log ends before. */
  readonly found: Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'type'> | null;
  readonly problem: string;
}

/**
 * Names the first event of a range that is not the one that was sealed, and what was done: its leaf hash among the kept ones
 * tells where an event belongs. Null where the kept ones are not those of the seal, or all of them are as they were.
 */
export async function locateDamage(
  log: Pick<EventLog, 'readAll'>,
  { seal, after }: { readonly seal: LedgerSealed; readonly after: Position | null },
  leaves: SealedLeaves,
): Promise<DamagedEvent | null> {
  const { first, count } = seal;
  const kept = leaves.range(first, count);
  if (kept.length < count || hexOf(rootOf(kept)) !== seal.root) return null;
  const found = await eventsAfter(log, after, count);
  const hasher = new LeafHasher();
  const isAt = (event: RecordedEvent | undefined, index: number): boolean =>
    event !== undefined && hasher.hash(event, first + index) === kept[index];
  const index = kept.findIndex((_, at) => !isAt(found[at], at));
  if (index === -1) return null;
  const event = found[index];
  const belongs = kept.findIndex((_, at) => at > index && isAt(event, at));
  const instead = found.findIndex((other, at) => at > index && isAt(other, index));
  return { ordinal: first + index, found: placeOf(event), problem: problemOf({ index, event, belongs, instead }) };
}

interface Misplaced {
  readonly index: number;
  readonly event: RecordedEvent | undefined;
  /** Where the event was sealed; -1 where it was not. */
  readonly belongs: number;
  /** Where the one stands that was sealed here; -1 where it does not. */
  readonly instead: number;
}

function problemOf({ index, event, belongs, instead }: Misplaced): string {
  if (event === undefined) return 'the log ends before it';
  if (belongs === -1 && instead === -1) return 'it is not as it was sealed';
  if (instead === -1) return `gone before it: ${counted(belongs - index, 'event')}`;
  if (belongs === -1) return `${counted(instead - index, 'event')} from here on stood in no seal`;
  return `it was sealed ${belongs - index} later, and what was sealed here stands ${instead - index} later`;
}

const placeOf = (event: RecordedEvent | undefined): DamagedEvent['found'] =>
  event === undefined ? null : { stream: event.stream, revision: event.revision, id: event.id, type: event.type };

async function eventsAfter(
  log: Pick<EventLog, 'readAll'>,
  after: Position | null,
  count: number,
): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const event of log.readAll({ after })) {
    if (event.stream !== SEALS_STREAM) events.push(event);
    if (events.length === count) break;
  }
  return events;
}

function rootOf(leaves: readonly Digest[]): Digest {
  const tree = new MerkleTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree.root();
}
