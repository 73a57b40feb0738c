import { pause } from '../pause.ts';
import { passesSoon } from './kafka-fault.ts';
import { FEED_LIMITS } from './limits.ts';

/**
 * Asks again, for a bounded while, as long as a broker answers with a fault that passes by itself: a new topic has no
 * leaders yet, a new cluster's groups no coordinator. @throws what `ask` throws, when it is another fault or stays
 */
export async function whileItPasses<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += FEED_LIMITS.passingPauseMs) {
    try {
      return await ask();
    } catch (error) {
      if (!passesSoon(error) || waitedMs >= FEED_LIMITS.passingMs || signal?.aborted === true) throw error;
      await pause(FEED_LIMITS.passingPauseMs, signal);
    }
  }
}
