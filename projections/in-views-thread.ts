import { Worker } from 'node:worker_threads';
import { lackedDescriptor } from '../contracts/shortage.ts';
import type { UpcastFiles } from './upcast-views.ts';
import type { NotForNow, ViewsTask, ViewsTaskDone } from './views-thread.ts';

/** @throws what `upcastViews` throws; Error where the signal is aborted before */
export async function upcastInThread(
  files: UpcastFiles,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | NotForNow | null> {
  const done = await inThread({ type: 'upcast', files }, signal).catch((error: unknown): NotForNow => {
    // The thread itself found no descriptor to start by.
    if (error instanceof Error && lackedDescriptor(error)) return { notForNow: error.message };
    throw error;
  });
  if ('notForNow' in done) return done;
  if (!('upcastFrom' in done)) throw otherAnswer(done);
  return done.upcastFrom;
}

/** @throws what `damageOfRows` throws; Error where the signal is aborted before */
export async function damageOfRowsInThread(path: string, signal: AbortSignal): Promise<string | null> {
  const done = await inThread({ type: 'look', path }, signal);
  if (!('damage' in done)) throw otherAnswer(done);
  return done.damage;
}

const otherAnswer = (done: ViewsTaskDone): Error =>
  new Error(`the thread that reads the views has answered something else: ${Object.keys(done).join(', ')}`);

function inThread(task: ViewsTask, signal: AbortSignal): Promise<ViewsTaskDone> {
  const done = Promise.withResolvers<ViewsTaskDone>();
  const thread = new Worker(new URL('./views-thread.ts', import.meta.url), { workerData: task });
  const end = (): void => void thread.terminate();
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  thread.once('message', (answer: ViewsTaskDone) => {
    if ('failed' in answer) done.reject(new Error(answer.failed));
    else done.resolve(answer);
  });
  thread.once('error', done.reject);
  thread.once('exit', () => {
    signal.removeEventListener('abort', end);
    // Whoever has resolved before is not rejected by it.
    done.reject(new Error('the thread that reads the views has ended'));
  });
  return done.promise;
}
