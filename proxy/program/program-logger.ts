import pino, { type Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import { printable } from '../../contracts/printable.ts';
import { LogDestination } from './log-destination.ts';

const STDERR = 2;
const WARN = 40;

/** The log of a program that stays up: JSON lines on stderr, in which nothing that others have named hides or turns what is seen. */
export function programLogger({ logLevel }: Pick<Configuration, 'logLevel'>): Logger {
  const destination = new LogDestination({
    fd: STDERR,
    lostLines: (lines) =>
      `${JSON.stringify({ level: WARN, time: Date.now(), lines, msg: 'lines of this log were lost: it could not be written' })}\n`,
  });
  process.once('exit', () => destination.flushSync());
  return pino({ level: logLevel, base: null, hooks: { streamWrite: printable } }, destination);
}
