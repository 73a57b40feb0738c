import type { Logger } from 'pino';

/** A terminal sends its Ctrl-C to all that it runs, and npm passes it on to who has it already: that is one signal. */
const SAME_MS = 1_000;

interface StopOnSignals {
  readonly logger: Logger;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic?: () => number;
  readonly stop: () => void;
}

/** The first SIGTERM or SIGINT stops in order; one that comes a second later, or after that, ends the process at once, with code 1. */
export function stopOnSignals({ logger, monotonic = () => performance.now(), stop }: StopOnSignals): void {
  let firstMs: number | null = null;
  const take = (signal: NodeJS.Signals): void => {
    if (firstMs === null) {
      firstMs = monotonic();
      logger.info({ signal }, 'stopping');
      stop();
    } else if (monotonic() - firstMs >= SAME_MS) {
      logger.warn({ signal }, 'not waiting any longer for what is under way');
      process.exit(1);
    }
  };
  process.on('SIGTERM', take);
  process.on('SIGINT', take);
}
