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

/** By then what a thread's own start has needed, a third of its heap, is needed no more; a command's threads have ended. */
const STARTED_MS = 2_000;
const THREAD_HEAP_BYTES_MAX = 32 * 1024 * 1024;

/** The same for a thread that lives as long as its process, once, some seconds after its start. Keeps no thread. */
export function giveBackOnceStarted(): void {
  setTimeout(giveBackMemory, STARTED_MS, THREAD_HEAP_BYTES_MAX).unref();
}
