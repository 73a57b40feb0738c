import type { Logger } from 'pino';

/** A terminal sends its Ctrl-C to all that it runs, and npm passes it on to who has it already: that is one signal. */
const SAME_MS = 1_000;

/** What is done about signals: other things, as the program comes to have more to stop. */
export interface StopOnSignals {
  /** Null until there is one. */
  logger: Logger | null;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic?: () => number;
  stop: () => void;
}

/** The first SIGTERM or SIGINT stops in order; one that comes a second later, or after that, ends the process at once, with code 1. */
export function stopOnSignals(on: StopOnSignals): void {
  const { monotonic = () => performance.now() } = on;
  let firstMs: number | null = null;
  const take = (signal: NodeJS.Signals): void => {
    if (firstMs === null) {
      firstMs = monotonic();
      on.logger?.info({ signal }, 'stopping');
      on.stop();
    } else if (monotonic() - firstMs >= SAME_MS) {
      on.logger?.warn({ signal }, 'not waiting any longer for what is under way');
      process.exit(1);
    }
  };
  process.on('SIGTERM', take);
  process.on('SIGINT', take);
}
