import type { Logger } from 'pino';

/**
 * Node's warnings, as of a library's timer that is set to a time that has passed, are lines of the log like all others: whoever reads that by
 * program could not read what Node writes beside them. Each is written as often as Node gives it, which is once for most.
 */
export function warningsToLog(logger: Logger): void {
  // Node's own, which writes them.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => logger.warn({ warning: name, reason: message }, 'Node warns'));
}
