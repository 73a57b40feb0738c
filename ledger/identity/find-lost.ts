import { type EventLog, type RecordedEvent, unlessHidden } from '../../contracts/event-log.ts';
import { NO_STREAM, type Position, revision, type StreamName } from '../../contracts/ids.ts';
import { type KnownRevision, type LedgerKnowledge, newestOfEach, revisionsKnown } from './known-ledger.ts';
import { IDENTITY_LIMITS } from './limits.ts';

/** A stream of which more is known than the ledger has. What it has in common with what was there is known in part. */
export interface LostRange extends KnownRevision {
  /** The stream's last revision in the ledger; -1 is none. */
  readonly end: number;
  /** Up to this revision it is what was there, for certain; -1 where that can be said of none. */
  readonly sharedAtLeast: number;
  /** What comes after this one is not what was there; -1 is all of it. */
  readonly sharedAtMost: number;
  /** The ledger has another event in the place of the one that is known: it went on after it had lost it. */
  readonly isReplaced: boolean;
}

export interface LostEvents {
  readonly lost: readonly LostRange[];
  /** Other streams that may differ: of them only a revision is known, or they were too many. 0: nothing is lost. */
  readonly untold: number;
}

/** A known event, and what the ledger has in its place. */
interface StreamLook {
  readonly known: KnownRevision;
  readonly there: RecordedEvent | null;
}

/**
 * Which of the known events a ledger does not have. Its log is one order, and was put back to a state that it had once:
 * up to a known event that is there, all of it is what was there, and from an event on that stands in the place of
 * another, none of it is, in any stream. @throws EventLogError when the log does not answer: that is no loss
 */
export async function findLost(log: EventLog, known: readonly LedgerKnowledge[]): Promise<LostEvents> {
  const looks = (await inTurns(revisionsKnown(known), (one) => lookAt(log, one))).filter((look) => look !== null);
  const fork = forkOf(looks);
  const lost = looks.filter(({ there }) => there === null || there.position >= fork.from);
  if (lost.length === 0) return { lost: [], untold: 0 };
  const newest = newestOfEach(lost.map(({ known }) => known));
  const ranges = await inTurns(
    lost.filter(({ known }) => newest.has(known)),
    (look) => rangeOf(log, look, fork),
  );
  return { lost: ranges, untold: untoldOf(looks, ranges, fork) + sumOf(known, ({ notCompared = 0 }) => notCompared) };
}

/** Null for a stream of which the log's server hides events: that is said by itself, and tells nothing of the ledger. */
function lookAt(log: EventLog, known: KnownRevision): Promise<StreamLook | null> {
  return unlessHidden(
    eventAt(log, known.stream, known.revision).then((there) => ({ known, there })),
    null,
  );
}

function untoldOf(looks: readonly StreamLook[], lost: readonly LostRange[], fork: Fork): number {
  const told = new Set(lost.map(({ stream }) => stream));
  const untold = looks.filter(({ known, there }) => there !== null && there.position > fork.after && known.id === null);
  return new Set(untold.flatMap(({ known: { stream } }) => (told.has(stream) ? [] : [stream]))).size;
}

const sumOf = <T>(all: readonly T[], value: (one: T) => number): number =>
  all.reduce((sum, one) => sum + value(one), 0);

/** Where the ledger has left what was there: somewhere between two positions of its log. */
interface Fork {
  /** Of the last event that is known to be what was there. */
  readonly after: Position | -1;
  /** Of the first that is known not to be. */
  readonly from: Position | typeof Number.POSITIVE_INFINITY;
}

function forkOf(looks: readonly StreamLook[]): Fork {
  let after = -1;
  let from = Number.POSITIVE_INFINITY;
  for (const { known, there } of looks) {
    if (known.id === null || there === null) continue;
    if (known.id === there.id) after = Math.max(after, there.position);
    else from = Math.min(from, there.position);
  }
  return { after, from } as Fork;
}

async function rangeOf(log: EventLog, { known, there }: StreamLook, fork: Fork): Promise<LostRange> {
  const end = await lastRevision(log, known.stream);
  const before = (limit: number): Promise<number> => lastBefore(log, known.stream, end, limit);
  const sharedAtMost = fork.from === Number.POSITIVE_INFINITY ? end : await before(fork.from);
  const sharedAtLeast = fork.after === -1 ? NO_STREAM : await before(fork.after + 1);
  return {
    ...known,
    end,
    // What contradicts itself is believed to have less in common.
    sharedAtLeast: Math.min(sharedAtLeast, sharedAtMost),
    sharedAtMost,
    isReplaced: there !== null,
  };
}

async function lastRevision(log: EventLog, stream: StreamName): Promise<number> {
  for await (const { revision } of log.readStream(stream, { direction: 'backwards', limit: 1 })) return revision;
  return NO_STREAM;
}

/** The stream's last revision that stands before a position of the log, by halving: revisions stand in its order. */
async function lastBefore(log: EventLog, stream: StreamName, end: number, limit: number): Promise<number> {
  let below = -1;
  let above = end + 1;
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    const event = await eventAt(log, stream, middle);
    if (event !== null && event.position >= limit) above = middle;
    else below = middle;
  }
  return below;
}

async function eventAt(log: EventLog, stream: StreamName, at: number): Promise<RecordedEvent | null> {
  for await (const event of log.readStream(stream, { from: revision(at), limit: 1 }))
    return event.revision === at ? event : null;
  return null;
}

/** Some at once, never all. */
async function inTurns<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += IDENTITY_LIMITS.readsAtOnce)
    done.push(...(await Promise.all(all.slice(from, from + IDENTITY_LIMITS.readsAtOnce).map(work))));
  return done;
}
