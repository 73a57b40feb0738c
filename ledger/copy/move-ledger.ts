import { randomUUID } from 'node:crypto';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog, ProposedEvent, ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { LedgerEvent } from '../../contracts/events.ts';
import { COPY_STREAM, eventId, LEDGER_STREAM, NO_STREAM, type Position, type Revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { type CopyMarker, readCopyMarker } from '../identity/copy-marker.ts';
import { identifyLedger } from '../identity/identify-ledger.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { ComparedTarget, placeReached, type SamePlace } from './compare-logs.ts';
import { CopyError } from './copy-error.ts';
import { copyEvents } from './copy-events.ts';
import { COPY_LIMITS } from './limits.ts';
import { type VerifiedCopy, verifyCopy } from './verify-copy.ts';

export interface CopySource {
  readonly log: EventLog;
  /** Appends the last event that the log is to have, at this revision of the stream `ledger`. False on a conflict. */
  readonly end: (expected: Revision, of: (head: RecordedEvent | null) => ProposedEvent) => Promise<boolean>;
}

export interface CopyTarget {
  readonly log: EventLog;
  /** As an operator knows it. */
  readonly place: string;
  /** Others can see it while it is made: it says of itself that it is not whole. */
  readonly isShared: boolean;
}

export interface CopyOptions {
  readonly recording: () => Recording;
  readonly onCopied: (events: number, last: Position) => void;
  readonly onCompared: (event: RecordedEvent) => void;
  /** Null: what is there is copied and compared, and the ledger stays where it is. */
  readonly move: MoveSteps | null;
}

export interface MoveSteps {
  /** Everything that was there is in the target, and compared. @throws where the source may not be ended yet */
  readonly beforeEnd: () => Promise<void>;
  /** All of the source is in the target, which is about to become the ledger. */
  readonly beforeArrival: (verified: VerifiedCopy) => Promise<void>;
}

export interface CopiedLedger extends LedgerIdentity {
  /** Compared, one by one. */
  readonly events: number;
  readonly seals: number;
  readonly hasMoved: boolean;
}

/**
 * Copies a ledger to another log and, where it is to move, ends the one that it was in:
 *
 *   copy, compare all, check seals │ end of the source │ copy and compare the rest │ the target is the ledger
 *          as often as need be                         └───── nobody writes anywhere ─────┘
 *
 * Interrupted anywhere it is run again: what it finds done it does not do again.
 * @throws CopyError; EventLogError; UnreadableEventError
 */
export async function copyLedger(source: CopySource, target: CopyTarget, options: CopyOptions): Promise<CopiedLedger> {
  const { arrivals, moved } = await readLedgerState(source.log);
  const identity = await identityOf(source.log, options);
  if (moved !== null && moved.to !== target.place)
    throw new CopyError(
      `the ledger has moved to ${moved.to} at ${moved.movedAt}: it is copied from there, and not from here`,
    );
  if (!target.isShared) await assertNoOther(target, arrivals);
  if (target.isShared) await mark(target.log, { ledgerId: identity.ledgerId, arrivals: arrivals + 1 });
  const there = await readLedgerState(target.log);
  const isHere = there.arrivals > arrivals;
  if (isHere && moved === null)
    throw new CopyError('the target is where this ledger has moved to before: the source is an older copy of it');
  const hasMoved = isHere || there.moved !== null;
  if (!hasMoved) await copyRest(source.log, target, await placeReached(source.log, target.log, false), options);
  const verified = await verifyCopy(source.log, target.log, options.onCompared);
  const { events, seals } = verified;
  if (isHere) return { ...identity, events, seals, hasMoved: true };
  if (options.move === null) return { ...identity, events, seals, hasMoved: false };
  if (moved === null) {
    await options.move.beforeEnd();
    await endSource(source, target.place, options);
  }
  const all = await copyToTheEnd(source.log, target, verified, options);
  await options.move.beforeArrival(all);
  await arrive(target.log, identity, options.recording());
  return { ...identity, events: all.events, seals, hasMoved: true };
}

/** One from before there were identities gets it here. @throws CopyError where there is nothing to copy */
async function identityOf(log: EventLog, { recording }: CopyOptions): Promise<LedgerIdentity> {
  if ((await log.headPosition()) === null) throw new CopyError('the ledger has no events: there is nothing to copy');
  const now = recording();
  return await identifyLedger(log, Date.parse(now.recordedAt), now);
}

/** A file that is there already may be what the ledger has left before. @throws CopyError */
async function assertNoOther({ log, place }: CopyTarget, arrivals: number): Promise<void> {
  const { moved, arrivals: there } = await readLedgerState(log);
  if (moved !== null && there < arrivals)
    throw new CopyError(
      `the ledger was in ${place} before, and has moved to ${moved.to} at ${moved.movedAt}: move that file away first`,
    );
}

/** The first event of a target that others can see. @throws CopyError where somebody else's copy goes there */
async function mark(log: EventLog, marker: CopyMarker): Promise<void> {
  const found = (await readCopyMarker(log)) ?? (await writeMarker(log, marker));
  if (found.ledgerId === marker.ledgerId && found.arrivals === marker.arrivals) return;
  throw new CopyError(
    found.ledgerId === marker.ledgerId
      ? 'the ledger has been copied to this place before it came to where it is now: take another one (another --stream-prefix)'
      : `the ledger ${found.ledgerId} is copied to this place: take another one (another --stream-prefix)`,
  );
}

async function writeMarker(log: EventLog, marker: CopyMarker): Promise<CopyMarker> {
  if ((await log.headPosition()) !== null)
    throw new CopyError('there is a ledger in the target already: take another place (another --stream-prefix)');
  const event = { id: eventId(randomUUID()), type: 'CopyBegun', data: JSON.stringify(marker), metadata: '{}' };
  await log.append(COPY_STREAM, NO_STREAM, [event]);
  // Of two that begin at once one is too late.
  return (await readCopyMarker(log)) ?? marker;
}

const copyRest = (
  source: ReadableLog,
  { log, isShared }: CopyTarget,
  after: SamePlace | null,
  { onCopied }: CopyOptions,
): Promise<Position | null> =>
  copyEvents(source, log, {
    ...{ after: after?.source ?? null, onCopied },
    atOnce: isShared ? 1 : COPY_LIMITS.appendsAtOnceInFile,
  });

/** @throws CopyError where others write to the stream `ledger` again and again */
async function endSource({ log, end }: CopySource, to: string, { recording }: CopyOptions): Promise<void> {
  for (let attempt = 1; attempt <= COPY_LIMITS.tries; attempt++) {
    const { revision, identity, moved } = await readLedgerState(log);
    if (moved !== null || identity === null) return;
    const recordedNow = recording();
    const { recordedAt: movedAt, actor } = recordedNow;
    const isEnded = await end(revision, (newest) => {
      if (newest === null) throw new CopyError('the ledger has no events any more');
      const { stream, revision: at, id } = newest;
      const head = { stream, revision: at, id };
      return encodeOne({ type: 'LedgerMoved', data: { ...identity, to, head, movedAt, actor } }, recordedNow);
    });
    if (isEnded) return;
  }
  throw new CopyError(
    `others have written to the stream ${LEDGER_STREAM} ${COPY_LIMITS.tries} times in between: run it again`,
  );
}

/** What came since, until both logs end with the same event. */
async function copyToTheEnd(
  source: EventLog,
  target: CopyTarget,
  verified: VerifiedCopy,
  options: CopyOptions,
): Promise<VerifiedCopy> {
  const relays = new Set(verified.relays);
  let { place, events } = verified;
  for (let round = 1; round <= COPY_LIMITS.tries; round++) {
    const { moved } = await readLedgerState(target.log);
    await copyRest(source, target, await placeReached(source, target.log, moved !== null), options);
    const compared = new ComparedTarget(source, target.log, { after: place, onCompared: options.onCompared });
    for await (const _event of compared.readAll());
    place = compared.place;
    events += compared.events;
    for (const relay of compared.relays) relays.add(relay);
    if (place?.source === (await source.headPosition())) return { ...verified, place, events, relays };
  }
  throw new CopyError(
    'the source goes on after its last event: somebody writes to it who should have stopped. Run it again',
  );
}

async function arrive(log: EventLog, identity: LedgerIdentity, recording: Recording): Promise<void> {
  const { revision } = await readLedgerState(log);
  const event = encodeOne(
    { type: 'LedgerIdentified', data: { ...identity, identifiedAt: recording.recordedAt } },
    recording,
  );
  const result = await log.append(LEDGER_STREAM, revision, [event]);
  if (result.type === 'conflict') throw new CopyError('somebody else writes to the target: run it again');
}

function encodeOne(event: LedgerEvent, recording: Recording): ProposedEvent {
  const [encoded] = encodeEvents([event], recording);
  if (encoded === undefined) throw new Error('one event is encoded as one');
  return encoded;
}
