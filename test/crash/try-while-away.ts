import { setTimeout as delay } from 'node:timers/promises';

/** A log that was killed is back soon; on a machine that is busy, within two minutes. */
const TRIES_MAX = 240;
const TRY_AGAIN_MS = 500;
/** The gateway program's exit code for data out of reach. */
const EXIT_UNAVAILABLE = 4;

/**
 * Runs a command again while it says that the log is away, as an operator does. A command whose answer was lost may be
 * done twice: nothing here is wrong then, but that an account has one key or one grant more.
 * @throws Error when the command fails for another reason, or for too long
 */
export async function tryWhileAway(run: () => Promise<string>, onTryAgain?: () => void): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isAway = error instanceof Error && 'code' in error && error.code === EXIT_UNAVAILABLE;
      if (!isAway || attempt >= TRIES_MAX) throw error;
      onTryAgain?.();
      await delay(TRY_AGAIN_MS);
    }
  }
}
