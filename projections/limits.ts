import assert from 'node:assert/strict';
import { LIMITS } from '../contracts/limits.ts';

export const VIEW_LIMITS = Object.freeze({
  /** While the views follow their source and nothing happens, the file is told that they are current this often. */
  currentMarkMs: 2_000,
  /** After a write of so many rows the next waits that much longer than `LIMITS.viewFlushMs`, up to a bound. */
  flushPausePerRowMs: 5,
  flushPauseMaxMs: 1_000,
  /** The pause while views catch up: what a replay that is killed has to read again. Each write brings most of all rows. */
  catchUpPauseMs: 30_000,
  /** Or so many times as long as the last of them took: of a ledger whose replay takes longer it stays a tenth of the time, however many accounts there are. */
  catchUpPausePerWrite: 10,
  /** Threads that fold the ledger's file anew at once, at most: each has modules of its own, and reads all of the file. */
  foldThreadsMax: 4,
  /** Fewer events are folded by one as soon as by several. */
  foldedInPartsFrom: 50_000,
  /** Behind so many positions each of them asks whether the rows are wanted that it has come to. */
  stretchPositions: 50_000,
  /** What is parsed of an event is soon garbage. */
  foldThreadYoungMb: 32,
  /** Between two tries of a write that a full disk has refused. */
  postponedPauseMs: 1_000,
  /** Between two looks whether there is room to make views of now of those of an earlier version that serve. */
  upcastPauseMs: 5_000,
  /** And where there was, and it failed all the same. */
  upcastPauseMaxMs: 600_000,
  /** A command that reads the live views does so for so long at most, where others are to take their place. */
  upcastReadMs: 60_000,
  /** Rows that are handed at once to the thread that writes them: a megabyte or two. */
  rowsPerPart: 2_000,
  /** Where others are left room on the disk it is looked for so often. */
  rowsPerRoomLook: 100,
  /** What may be written until the next look: SQLite's cache (2,000 KiB) of pages that are in no file yet, and those of so many rows. */
  roomAheadBytes: 4 * 1_024 ** 2,
  /** A switch closes both files for its moment: behind it there has to be room for what SQLite puts beside them again, some 100 KiB. */
  roomToSwitchBytes: 1_024 ** 2,
  /** Rows that are encoded in one turn of the event loop, so that a flush never delays requests. */
  rowsPerTurn: 16,
  /** Events that are folded in one turn of the event loop, and restored accounts that are looked at. */
  foldsPerTurn: 16,
  /** The longest pause between two looks for a log that is away. The looking itself ends with `close`. */
  contactPauseMaxMs: 2_000,
  /** A node that lags behind may lack the checkpoint's event: so often it is asked before the rows are given up. */
  foreignLooks: 3,
  foreignPauseMs: 300,
  /** An account that was set aside is read so often until nothing has come behind what was read. */
  takeBackReadings: 10,
  /** Positions that were folded lately, by which a source in several partitions answers for a single one. */
  recentPositionsMax: 10_000,
  /** How often the log is asked whether the topic that feeds the views lags behind it, and how much it shows at once. */
  lagLookMs: 2_000,
  lagPageEvents: 10_000,
  /** So much of the log that was not compared with them yet a command compares with such views: some seconds at most. */
  comparedForStatus: 100_000,
});

/** How long views that catch up fold on behind a write that took so long, in milliseconds. */
export const catchUpPauseMs = (tookMs: number): number =>
  Math.max(VIEW_LIMITS.catchUpPauseMs, VIEW_LIMITS.catchUpPausePerWrite * tookMs);

assert(
  VIEW_LIMITS.currentMarkMs > VIEW_LIMITS.flushPauseMaxMs,
  'the mark costs less than the flushes of a busy gateway',
);
assert(VIEW_LIMITS.flushPauseMaxMs > LIMITS.viewFlushMs, 'a write of many rows is followed by a longer pause');
assert(VIEW_LIMITS.currentMarkMs < LIMITS.viewsAgeMs, 'views that follow their source are not too old after a restart');
