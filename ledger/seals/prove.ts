import { z } from 'zod';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { type EventId, eventId, revision, SEALS_STREAM, type StreamName } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import { LeafHasher } from './leaf.ts';
import {
  consistencyRanges,
  digestOfHex,
  hexOf,
  inclusionRanges,
  isConsistent,
  MerkleTree,
  RangeRoots,
  rootByInclusion,
} from './merkle.ts';
import { newestSeal } from './newest-seal.ts';
import type { LedgerSealed } from './seal-signature.ts';

const hashField = z.string().regex(/^[0-9a-f]{64}$/);

/** What a proof file holds: by the seal's signature alone, and without the ledger, an event is shown to stand in it. */
export const proofSchema = z.strictObject({
  seal: EVENT_SCHEMAS.LedgerSealed,
  /** An event, as it is stored, and the hashes from its leaf up to the seal's `treeRoot`. */
  inclusion: z
    .strictObject({
      event: z.strictObject({
        ordinal: z.int().min(0),
        stream: z.string().transform((name) => name as StreamName),
        revision: z.int().min(0).transform(revision),
        id: z.string().transform(eventId),
        type: z.string(),
        data: z.string(),
        metadata: z.string(),
      }),
      path: z.array(hashField),
    })
    .nullable(),
  /** An earlier seal, and the hashes that show that its events are the beginning of the seal's. */
  consistency: z.strictObject({ since: EVENT_SCHEMAS.LedgerSealed, path: z.array(hashField) }).nullable(),
});
export type Proof = z.infer<typeof proofSchema>;

export interface ProofQuestion {
  readonly eventId: EventId | null;
  /** A seal, or the number of one of the log. */
  readonly since: LedgerSealed | number | null;
}

/** Why nothing can be proved, in words. */
export interface Unproved {
  readonly problem: string;
}

/** Reads the log up to its newest seal, once for where the event stands and once for the hashes. @throws EventLogError */
export async function prove(log: ReadableLog, question: ProofQuestion): Promise<Proof | Unproved> {
  const seal = (await newestSeal(log))?.seal;
  if (seal === undefined) return { problem: 'nothing is sealed yet' };
  const ordinal = question.eventId === null ? null : await ordinalOf(log, question.eventId);
  if (ordinal === -1) return { problem: `there is no event ${question.eventId}` };
  if (ordinal !== null && ordinal >= seal.treeSize)
    return { problem: `event ${question.eventId} is not sealed yet: it comes after seal ${seal.seal}` };
  const since = typeof question.since === 'number' ? await sealNumber(log, question.since) : question.since;
  if (since === null && question.since !== null) return { problem: `there is no seal ${question.since}` };
  if (since !== null && since.treeSize > seal.treeSize)
    return {
      problem: `seal ${since.seal} is of ${counted(since.treeSize, 'event')}, and the newest of ${seal.treeSize}`,
    };
  return hash(log, { seal, ordinal, since });
}

interface Asked {
  readonly seal: LedgerSealed;
  readonly ordinal: number | null;
  readonly since: LedgerSealed | null;
}

async function hash(log: ReadableLog, { seal, ordinal, since }: Asked): Promise<Proof | Unproved> {
  const tree = new MerkleTree();
  const path = new RangeRoots(ordinal === null ? [] : inclusionRanges(ordinal, seal.treeSize));
  const older = new RangeRoots(since === null ? [] : consistencyRanges(since.treeSize, seal.treeSize));
  const hasher = new LeafHasher();
  let proved: RecordedEvent | null = null;
  for await (const event of log.readAll()) {
    if (event.stream === SEALS_STREAM) continue;
    const leaf = hasher.hash(event, tree.size);
    if (tree.size === ordinal) proved = event;
    for (const part of [tree, path, older]) part.append(leaf);
    if (tree.size === seal.treeSize) break;
  }
  const inclusion =
    proved === null || ordinal === null ? null : { event: asStored(proved, ordinal), path: path.roots().map(hexOf) };
  const consistency = since === null ? null : { since, path: older.roots().map(hexOf) };
  const proof: Proof = { seal, inclusion, consistency };
  const problem = problemOfProof(proof);
  return problem === null ? proof : { problem: `the ledger is not as it was sealed: ${problem}` };
}

/** What of the proof's hashes does not hold; null where all do. Who has signed its seals is asked elsewhere. */
export function problemOfProof({ seal, inclusion, consistency }: Proof): string | null {
  if (inclusion === null && consistency === null) return 'it shows neither an event nor an earlier seal';
  if (inclusion !== null) {
    const { event } = inclusion;
    const leaf = new LeafHasher().hash(event, event.ordinal);
    const path = inclusion.path.map(digestOfHex);
    const root = rootByInclusion({ index: event.ordinal, size: seal.treeSize, leaf, path });
    if (root === null || hexOf(root) !== seal.treeRoot) return `event ${event.id} does not stand in seal ${seal.seal}`;
  }
  if (consistency !== null) {
    const { since } = consistency;
    const older = { size: since.treeSize, root: digestOfHex(since.treeRoot) };
    const newer = { size: seal.treeSize, root: digestOfHex(seal.treeRoot) };
    if (!isConsistent({ older, newer, path: consistency.path.map(digestOfHex) }))
      return `what seal ${since.seal} covers is not the beginning of what seal ${seal.seal} covers`;
  }
  return null;
}

const asStored = ({ stream, revision, id, type, data, metadata }: RecordedEvent, ordinal: number) => ({
  ...{ ordinal, stream, revision, id, type, data, metadata },
});

async function ordinalOf(log: ReadableLog, id: EventId): Promise<number> {
  let ordinal = 0;
  for await (const event of log.readAll({ placesOnly: true })) {
    if (event.stream === SEALS_STREAM) continue;
    if (event.id === id) return ordinal;
    ordinal += 1;
  }
  return -1;
}

async function sealNumber(log: ReadableLog, seal: number): Promise<LedgerSealed | null> {
  for await (const event of log.readStream(SEALS_STREAM)) {
    const { type, data } = decodeEvent(event);
    if (type === 'LedgerSealed' && data.seal === seal) return data;
  }
  return null;
}
