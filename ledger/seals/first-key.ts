import type { Logger } from 'pino';
import { shortageOf } from '../../contracts/shortage.ts';
import { TIMING, type Timing } from '../timing.ts';
import { SEAL_LIMITS } from './limits.ts';
import type { SealKey } from './seal-keys.ts';

const UNREAD = 'nothing is sealed before its key can be read: that is tried on and on';

interface FirstKeyWait {
  /** Ends the waiting: there is no other bound to how long a machine may be short of something. */
  readonly signal: AbortSignal;
  /** Told of the first try in vain. */
  readonly logger: Pick<Logger, 'error'>;
  readonly timing?: Pick<Timing, 'pause'>;
}

/**
 * The key that a sealer begins with, as soon as the machine has what reading it takes, or making it: a descriptor, room on the
 * disk. Null where the signal has ended that. @throws what else `read` throws
 */
export async function firstKey(
  read: () => SealKey,
  { signal, logger, timing: { pause } = TIMING }: FirstKeyWait,
): Promise<SealKey | null> {
  for (let isTold = false; !signal.aborted; isTold = true) {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Error) || shortageOf(error) === null) throw error;
      if (!isTold) logger.error({ reason: error.message }, UNREAD);
    }
    await pause(SEAL_LIMITS.retryMs, signal);
  }
  return null;
}
