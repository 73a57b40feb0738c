import { setTimeout as delay } from 'node:timers/promises';
import { EventLogError } from '../contracts/event-log.ts';

/** Between two looks for a log that is away. */
const LOOK_MS = 250;

export interface LogWait {
  /** Ends the waiting: there is no other bound to how long a log may be away. */
  readonly signal: AbortSignal;
  /** Told once, of the first look in vain. */
  readonly onFirst?: (error: EventLogError) => void;
}

/**
 * Does the work again and again until the event log has answered it; resolves as it does.
 * @throws what the work throws, unless that is a log that is away; AbortError when the waiting was ended
 */
export async function untilLogAnswers<T>(work: () => Promise<T>, { signal, onFirst }: LogWait): Promise<T> {
  for (let looks = 0; ; looks++) {
    try {
      return await work();
    } catch (error) {
      if (!isLogAway(error)) throw error;
      if (looks === 0) onFirst?.(error);
    }
    await delay(LOOK_MS, undefined, { signal });
  }
}

/** Whether the same call can succeed when the log is back. */
const isLogAway = (error: unknown): error is EventLogError => error instanceof EventLogError && error.canRetry;
