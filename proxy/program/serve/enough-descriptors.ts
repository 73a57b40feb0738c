import { readFileSync } from 'node:fs';

/** Threads, files and sockets of a gateway that nobody calls take some 50, and each connection one or two more. */
export const DESCRIPTORS_MIN = 64;

/**
 * Why a process with so few file descriptors cannot start as a gateway; null where it can, or where the system does not
 * say. What is short would otherwise be found by whatever opens a file last, in words about that file.
 */
export function fewDescriptors(limits = limitsOfProcess()): string | null {
  const soft = limits === null ? undefined : /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (soft === undefined || Number(soft) >= DESCRIPTORS_MIN) return null;
  return (
    `this process may have ${soft} file descriptors, and a gateway needs at least ${DESCRIPTORS_MIN} to start, ` +
    'and two for each request: raise the limit (ulimit -n, LimitNOFILE)'
  );
}

function limitsOfProcess(): string | null {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Not every system says it in this way; and who has no descriptor left to read it with is told by what comes next.
    return null;
  }
}
