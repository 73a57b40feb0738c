import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { SEALS_STREAM } from '../../contracts/ids.ts';
import { timeOf } from '../time-of-event.ts';
import { SEAL_LIMITS } from './limits.ts';

/** The first event behind the newest seal; null where there is none. What came while that was made is not far behind it. @throws EventLogError */
export async function oldestUnsealed(log: ReadableLog): Promise<RecordedEvent | null> {
  let after = null;
  for await (const seal of log.readStream(SEALS_STREAM, { direction: 'backwards', limit: 1 })) after = seal.position;
  for await (const event of log.readAll({ after, limit: 100 })) if (event.stream !== SEALS_STREAM) return event;
  return null;
}

/**
 * How long what is unsealed still has until its seal is due; where it is overdue, as long as what there is takes to be read.
 * @throws EventLogError
 */
export async function restUntilDueMs(
  log: ReadableLog,
  { afterMs, clock }: { readonly afterMs: number; readonly clock: () => number },
): Promise<number> {
  const oldest = await oldestUnsealed(log);
  const atMs = oldest && timeOf(oldest).atMs;
  return atMs === null ? afterMs : Math.min(afterMs, Math.max(SEAL_LIMITS.lookMs, atMs + afterMs - clock()));
}
