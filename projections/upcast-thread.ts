import { parentPort, workerData } from 'node:worker_threads';
import { type UpcastFiles, upcastViews } from './upcast-views.ts';
import { viewsOfThisProgram } from './views-of-this-program.ts';

/** What `upcastViews` answers, or why it cannot. */
export type Upcast = { readonly from: ReadonlyMap<string, number> | null } | { readonly failed: string };

/** Makes views of an earlier version ones of this, away from the thread that answers. */
function upcast(): Upcast {
  try {
    return { from: upcastViews(workerData as UpcastFiles, viewsOfThisProgram()) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

parentPort?.postMessage(upcast());
