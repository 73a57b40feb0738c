import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The options of V8's `gc`, where it is to give back to the system whatever it can. */
const ALL = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

/**
 * What a start has needed and nobody needs any more, some 40 MB, is given back to the system: V8 does it by itself only when
 * more is asked for. It stops the process, for some tens of milliseconds where the heap is no larger than given: a larger
 * one is mostly of views, and left as it is where somebody may wait. For when nobody is served yet.
 */
export function giveBackMemory(heapBytesMax = Number.POSITIVE_INFINITY): void {
  if (getHeapStatistics().used_heap_size > heapBytesMax) return;
  setFlagsFromString('--expose-gc');
  const collect: (options: typeof ALL) => void = runInNewContext('gc');
  collect(ALL);
}
