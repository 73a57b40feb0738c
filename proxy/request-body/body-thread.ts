import { getPriority, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { BodyResult, BodyTask } from './body-threads.ts';
import { THREAD_NICENESS } from './limits.ts';
import { mockMessage } from './mock-reply.ts';
import { factsOf } from './request-facts.ts';

/** Reads long bodies, one after another, beside the thread that serves. Pieces come and go by transfer, uncopied. */
// On Linux a priority is a thread's; elsewhere it would be that of the whole process.
if (process.platform === 'linux') setPriority(Math.min(19, getPriority() + THREAD_NICENESS));

parentPort?.on('message', (task: BodyTask) => {
  const pieces = task.pieces.map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
  parentPort?.postMessage({ pieces, value: resultOf(task, Buffer.concat(pieces)) } satisfies BodyResult<unknown>, [
    ...new Set(pieces.map((piece) => piece.buffer as ArrayBuffer)),
  ]);
});

function resultOf({ job, windowMax }: BodyTask, body: Buffer): unknown {
  return job === 'mock' ? mockMessage(body) : factsOf(job, body, windowMax);
}
