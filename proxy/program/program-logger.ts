import pino, { type Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { AccessLogPlace } from '../observation/access-log.ts';
import { destinationAt, endLast, endNow } from './destination-at.ts';
import type { LogDestination } from './log-destination.ts';

const STDOUT = 1;
const STDERR = 2;
const WARN = 40;
/** Lines of requests are many, and nobody waits for one. */
const GATHER_MS = 100;

/** The log of a program that stays up: JSON lines on stderr, in which nothing that others have named hides or turns what is seen. */
export function programLogger({ logLevel }: Pick<Configuration, 'logLevel'>): Logger {
  const destination = destinationAt(STDERR, { lostLines: lostLine });
  endLast(destination);
  return loggerTo(destination, logLevel);
}

/** The log of requests: JSON lines on stdout. @param logger the program's, which is told where nobody takes them */
export function accessLogPlace(logger: Pick<Logger, 'error' | 'warn'>): AccessLogPlace {
  const destination = destinationAt(STDOUT, {
    lostLines: lostLine,
    gatherMs: GATHER_MS,
    onUnwritten: (error) =>
      logger.error(
        { err: error },
        'the access log cannot be written: it is tried on and on, and lines that are too many to wait are lost, and counted',
      ),
  });
  // Before the program's own, which tells what becomes of it.
  process.prependOnceListener('exit', () => {
    const lines = endNow(destination);
    if (lines > 0) logger.warn({ lines }, 'lines of the access log were lost: they were not taken before the end');
  });
  endLast(destination);
  return destination;
}

const lostLine = (lines: number): string =>
  `${JSON.stringify({ level: WARN, time: Date.now(), lines, msg: 'lines of this log were lost: it could not be written' })}\n`;

const loggerTo = (destination: LogDestination, level: Configuration['logLevel']): Logger =>
  pino({ level, base: null }, destination);
