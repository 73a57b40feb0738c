import { getPriority, setPriority } from 'node:os';
import { inspect } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { BodyFault, BodyResult, BodyTask } from './body-threads.ts';
import { THREAD_NICENESS } from './limits.ts';
import { mockMessage } from './mock-reply.ts';
import { factsOf } from './request-facts.ts';

/** Reads long bodies, one after another, beside the thread that serves. Pieces come and go by transfer, uncopied. */
// On Linux a priority is a thread's; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + THREAD_NICENESS));

parentPort?.on('message', (task: BodyTask) => {
  const pieces = task.pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
  parentPort?.postMessage({ pieces, ...resultOf(task, pieces) } satisfies BodyResult<unknown> | BodyFault, [
    ...new Set(pieces.map((piece) => piece.buffer as ArrayBuffer)),
  ]);
});

/** A fault is the request's alone: the thread reads the next body. */
function resultOf(
  { job, windowMax }: BodyTask,
  pieces: readonly Buffer[],
): Pick<BodyResult<unknown>, 'value'> | Pick<BodyFault, 'fault'> {
  try {
    const body = Buffer.concat(pieces);
    return { value: job === 'mock' ? mockMessage(body) : factsOf(job, body, windowMax) };
  } catch (error) {
    return { fault: inspect(error) };
  }
}
