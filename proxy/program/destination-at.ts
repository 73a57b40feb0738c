import { isatty } from 'node:tty';
import { LIMITS } from '../../contracts/limits.ts';
import { LogDestination, type LogDestinationOptions } from './log-destination.ts';
import { unheldDescriptor } from './unheld-descriptor.ts';

/** At a descriptor of this process, or, where that can be, at the same place without what others do with the descriptor. */
export function destinationAt(
  fd: number,
  options: Omit<LogDestinationOptions, 'fd' | 'waitsForNobody' | 'mayHold'>,
): LogDestination {
  const unheld = unheldDescriptor(fd);
  const waitsForNobody = unheld !== null;
  return new LogDestination({ ...options, fd: unheld ?? fd, waitsForNobody, mayHold: !waitsForNobody && isatty(fd) });
}

const toEnd: LogDestination[] = [];
let endsMs: number | null = null;

/** With the process: all of them together have LIMITS.logsEndMs. */
export function endNow(destination: LogDestination): number {
  endsMs ??= performance.now() + LIMITS.logsEndMs;
  return destination.end(endsMs - performance.now());
}

/**
 * Ends with the process, behind those that were begun before. A thread that a place holds would keep the process, whose work is
 * done: it leaves, behind all of them, as though it had been killed.
 */
export function endLast(destination: LogDestination): void {
  if (toEnd.push(destination) > 1) return;
  process.once('exit', () => {
    for (const each of toEnd) endNow(each);
    if (toEnd.some(({ isHeld }) => isHeld)) process.kill(process.pid, 'SIGKILL');
  });
}
