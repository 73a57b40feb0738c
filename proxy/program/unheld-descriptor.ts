import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * The terminal or pipe of a descriptor, opened anew by this process alone, so that a write takes what there is room for and waits for
 * nobody. A terminal that is held (Ctrl-S) keeps whoever writes to it, and a thread that waits there keeps its process from its end;
 * and whether a pipe waits is up to all who share the descriptor. Null where it is neither, or cannot be opened, as another user's terminal.
 */
export function unheldDescriptor(fd: number): number | null {
  try {
    if (!isatty(fd) && !fstatSync(fd).isFIFO()) return null;
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // As it is, then.
    return null;
  }
}
