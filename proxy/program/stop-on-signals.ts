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

/**
 * The first SIGTERM, SIGINT or SIGHUP stops in order. A SIGTERM or SIGINT that comes a second after the first of the two, or later,
 * ends the process at once, with code 1. A SIGHUP is nobody's hurry: where a terminal goes, a shell, sshd and the kernel each send one.
 */
export function stopOnSignals(on: StopOnSignals): void {
  const { monotonic = () => performance.now() } = on;
  let isStopping = false;
  let toldMs: number | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    if (isStopping) return;
    isStopping = true;
    on.logger?.info({ signal }, 'stopping');
    on.stop();
  };
  const take = (signal: NodeJS.Signals): void => {
    if (toldMs === null) {
      toldMs = monotonic();
      stop(signal);
    } else if (monotonic() - toldMs >= SAME_MS) {
      on.logger?.warn({ signal }, 'not waiting any longer for what is under way');
      process.exit(1);
    }
  };
  process.on('SIGTERM', take);
  process.on('SIGINT', take);
  process.on('SIGHUP', stop);
}
