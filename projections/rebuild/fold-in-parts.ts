import { Worker } from 'node:worker_threads';
import { EventLogError, type ReadableLog } from '../../contracts/event-log.ts';
import { revision, type StreamName } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { readUndamaged } from '../damaged-views.ts';
import { VIEW_LIMITS } from '../limits.ts';
import { LOG_SOURCE, type LogCheckpoint, logCheckpointSchema } from '../sources/log-view-source.ts';
import { beginFile, restoreViews } from '../view-store.ts';
import { viewsOfThisProgram } from '../views-of-this-program.ts';
import { EventSums, type SumsOfPart } from './event-sums.ts';
import type { FoldNews, FoldPart, FoldWord } from './fold-part.ts';
import { HandOvers } from './hand-overs.ts';

/** A ledger's file that several threads can read at once. */
export interface LedgerInParts {
  readonly file: string;
  /** Of the accounts: each is folded by a thread of its own. */
  readonly parts: number;
  /** Where fewer events are to be folded it is not begun. */
  readonly from: number;
  /** As `FoldPart` and `HandOvers` have them. */
  readonly stretchPositions: number;
  readonly pauseMs: (tookMs: number) => number;
}

interface FoldedOptions {
  readonly log: ReadableLog;
  readonly ledger: LedgerInParts;
  readonly path: string;
  readonly clock: () => number;
  readonly keepFreeBytes: number;
  /** How many events more are folded, and how many there are in all. */
  readonly onFolded: (events: number, of: number) => void;
}

interface FoldedInParts {
  readonly events: number;
  /** Of all events up to there; null where it went on from what was there before. */
  readonly sums: EventSums | null;
  /** Nothing is left to be done: the log had nothing behind them, and nobody was set aside before them. */
  readonly isAll: boolean;
}

/**
 * Folds a ledger's file into a file of views on several cores, from where that stands: each thread reads the ledger by itself and folds its part of the
 * accounts, and their rows are written here. What of it was written last is gone on with, by as many threads as there are then. Null, with nothing done,
 * where there is too little to fold, or what the file has has to be looked at by whoever goes on with it otherwise.
 * @throws EventLogError; ViewsNotWrittenError; UnreadableEventError for an event of no account
 */
export async function foldInParts(options: FoldedOptions): Promise<FoldedInParts | null> {
  const { log, ledger, path, onFolded } = options;
  const before = await standingIn(path, log);
  const upTo = await log.headPosition();
  if (before === null || upTo === null) return null;
  const { after, hasAside } = before;
  if (upTo - after < ledger.from) return null;
  const views = viewsOfThisProgram();
  beginFile({ path, views, keep: after > 0 });
  const { parts, file, stretchPositions, pauseMs } = ledger;
  const { clock, keepFreeBytes } = options;
  const isFresh = after === 0;
  const handOvers = new HandOvers({ log, path, views, isFresh, keepFreeBytes, clock, parts, upTo, pauseMs });
  let events = 0;
  const onEvents = (more: number): void => {
    events += more;
    onFolded(more, Math.max(events, upTo - after));
  };
  const threads = Array.from({ length: parts }, (_, part) => {
    const of = { path: file, part, parts, after, upTo, views: after > 0 ? path : null, stretchPositions };
    return startPart(of, handOvers, onEvents);
  });
  let has: Parameters<HandOvers['close']>[0] = 'as it is';
  try {
    const sums = await Promise.all(threads.map(({ folded }) => folded));
    has = 'whole';
    return { events, sums: after > 0 ? null : EventSums.of(sums), isAll: handOvers.isAll && !hasAside };
  } finally {
    // One that goes on would do so for nothing; and what it hands over is taken by nobody.
    await Promise.all(threads.map(({ end }) => end()));
    handOvers.close(has);
  }
}

interface Standing {
  /** 0 where nothing is folded. */
  readonly after: number;
  readonly hasAside: boolean;
}

/** Null where its rows cannot be relied on, or their last event stands elsewhere in this log, or not at all. */
async function standingIn(path: string, log: ReadableLog): Promise<Standing | null> {
  const looked = readUndamaged(path, () => checkpointOfRows(path));
  if (looked.damage !== null) return null;
  if (looked.read === null) return { after: 0, hasAside: false };
  const { last, hasAside } = looked.read;
  for await (const event of log.readStream(last.stream as StreamName, { from: revision(last.revision), limit: 1 }))
    return event.id === last.id && event.position === last.position ? { after: last.position, hasAside } : null;
  return null;
}

function checkpointOfRows(path: string): { readonly last: LogCheckpoint; readonly hasAside: boolean } | null {
  const setAside = new AccountsSetAside();
  const views = viewsOfThisProgram().map((view) => (view.name === setAside.name ? setAside : view));
  const restored = restoreViews(path, views, { source: LOG_SOURCE });
  if (restored === null) return null;
  restored.rows.close();
  return { last: logCheckpointSchema.parse(JSON.parse(restored.at.checkpoint)), hasAside: setAside.count > 0 };
}

interface PartUnderWay {
  readonly folded: Promise<SumsOfPart>;
  /** Also one that folds on. */
  readonly end: () => Promise<unknown>;
}

function startPart(workerData: FoldPart, handOvers: HandOvers, onEvents: (events: number) => void): PartUnderWay {
  const done = Promise.withResolvers<SumsOfPart>();
  const resourceLimits = { maxYoungGenerationSizeMb: VIEW_LIMITS.foldThreadYoungMb };
  const worker = new Worker(new URL('./fold-part.ts', import.meta.url), { workerData, resourceLimits });
  const answer = (word: FoldWord): void => worker.postMessage(word);
  const take = async (news: FoldNews): Promise<void> => {
    switch (news.type) {
      case 'folded':
        return onEvents(news.events);
      case 'at':
        return answer(await handOvers.wordAt(news.position));
      case 'rows':
        handOvers.take(news.batches);
        return answer('go on');
      case 'handed over':
        await handOvers.handedOver();
        return answer('go on');
      case 'end':
        return done.resolve(news.sums);
      case 'unread':
        return done.reject(new EventLogError(news.kind, news.message));
      case 'unreadable':
        return done.reject(new UnreadableEventError(news.message));
    }
  };
  worker.on('message', (news: FoldNews) => void take(news).catch(done.reject));
  worker.on('error', done.reject);
  // Whoever has resolved before is not rejected by it.
  worker.on('exit', (code) => done.reject(new Error(`a thread that folds has ended with code ${code}`)));
  return { folded: done.promise, end: () => worker.terminate() };
}
