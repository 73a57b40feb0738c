import { LogDestination, type LogDestinationOptions } from './log-destination.ts';
import { unheldDescriptor } from './unheld-descriptor.ts';

/** At a descriptor of this process, or, where that can be, at the same place without what others do with the descriptor. */
export function destinationAt(
  fd: number,
  options: Omit<LogDestinationOptions, 'fd' | 'waitsForNobody'>,
): LogDestination {
  const unheld = unheldDescriptor(fd);
  return new LogDestination({ ...options, fd: unheld ?? fd, waitsForNobody: unheld !== null });
}

/**
 * Ends with the process, behind those that were begun before. A thread that a place holds would keep the process, whose work is
 * done: it leaves as though it had been killed.
 */
export function endLast(destination: LogDestination): void {
  process.once('exit', () => {
    destination.end();
    if (destination.isHeld) process.kill(process.pid, 'SIGKILL');
  });
}
