import { type EventLogError, isLogAway } from '../contracts/event-log.ts';
import { BackOff } from './back-off.ts';

/** Between two looks for a log that is away: about the first pause, and the longest where nothing else is said. */
const PAUSE_MS_FIRST = 100;
const PAUSE_MS_MAX = 250;

interface LogWait {
  /** Ends the waiting: there is no other bound to how long a log may be away. */
  readonly signal: AbortSignal;
  /** Told once, of the first look in vain. */
  readonly onFirst?: (error: EventLogError) => void;
  /** Told of each look in vain. */
  readonly onEach?: (error: EventLogError) => void;
  readonly pauseMsMax?: number;
}

/**
 * Does the work again and again, with a back-off, until the event log has answered it; resolves as it does.
 * @throws what the work throws, unless that is a log that is away; the signal's reason when the waiting was ended
 */
export async function untilLogAnswers<T>(work: () => Promise<T>, wait: LogWait): Promise<T> {
  const { signal, onFirst, onEach, pauseMsMax = PAUSE_MS_MAX } = wait;
  for (const backOff = new BackOff({ firstMs: PAUSE_MS_FIRST, maxMs: pauseMsMax }); ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isLogAway(error)) throw error;
      if (backOff.tries === 0) onFirst?.(error);
      onEach?.(error);
    }
    await backOff.wait(signal);
    signal.throwIfAborted();
  }
}
