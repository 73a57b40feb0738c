import pino, { type Logger } from 'pino';
import type { Configuration } from '../contracts/configuration.ts';
import { printable } from '../contracts/printable.ts';

/** The log of a program that stays up: JSON lines on stderr, in which nothing that others have named hides or turns what is seen. */
export const programLogger = ({ logLevel }: Pick<Configuration, 'logLevel'>): Logger =>
  pino(
    { level: logLevel, base: null, hooks: { streamWrite: printable } },
    pino.destination({ dest: 2, sync: false, minLength: 0 }),
  );
