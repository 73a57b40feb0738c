import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type Position, SEALS_STREAM } from '../../contracts/ids.ts';
import { timeOf } from '../time-of-event.ts';
import { keptFrontier } from './frontier-file.ts';
import { SEAL_LIMITS } from './limits.ts';
import { newestSeal } from './newest-seal.ts';

/**
 * The first event that no seal covers; null where there is none, and `too far` where it is not looked for: what the newest
 * seal covers ends more than `SEAL_LIMITS.countedMax` events behind where the folder knows one to end.
 * @throws EventLogError, UnreadableEventError
 */
export async function oldestUnsealed(log: ReadableLog, dataFolder: string): Promise<RecordedEvent | null | 'too far'> {
  const newest = await newestSeal(log);
  const kept = await keptFrontier(log, dataFolder);
  const after = kept?.frontier.position ?? null;
  const count = (newest?.seal.treeSize ?? 0) - (kept?.seal.treeSize ?? 0);
  if (count > SEAL_LIMITS.countedMax) return 'too far';
  return firstUnsealed(log, count > 0 ? await lastOf(log, { after, count }) : after);
}

/**
 * How long what is unsealed still has until its seal is due; where it is overdue, as long as what there is takes to be read.
 * @param through the position of the last event that a seal covers; null where there is none @throws EventLogError
 */
export async function restUntilDueMs(
  log: ReadableLog,
  through: Position | null,
  { afterMs, clock }: { readonly afterMs: number; readonly clock: () => number },
): Promise<number> {
  const oldest = await firstUnsealed(log, through);
  const atMs = oldest && timeOf(oldest).atMs;
  return atMs === null ? afterMs : Math.min(afterMs, Math.max(SEAL_LIMITS.lookMs, atMs + afterMs - clock()));
}

/** A seal's own place tells nothing: events that it leaves to the next one may stand before it, and any number of seals behind them. */
async function firstUnsealed(log: ReadableLog, through: Position | null): Promise<RecordedEvent | null> {
  for await (const event of log.readAll({ after: through })) if (event.stream !== SEALS_STREAM) return event;
  return null;
}

/** Where the last of so many events stands that are sealed. */
async function lastOf(
  log: ReadableLog,
  { after, count }: { readonly after: Position | null; readonly count: number },
): Promise<Position | null> {
  let rest = count;
  for await (const { stream, position } of log.readAll({ after, placesOnly: true }))
    if (stream !== SEALS_STREAM && --rest === 0) return position;
  // Of a log that was cut: `gateway ledger verify --seals` says so.
  return log.headPosition();
}
