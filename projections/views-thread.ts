import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../contracts/message-of.ts';
import { mayPass } from '../ledger/event-log/sqlite/database-fault.ts';
import { damageOfRows } from './damaged-rows.ts';
import { KeptRoomError } from './room-to-keep.ts';
import { type UpcastFiles, upcastViews } from './upcast-views.ts';
import { viewsOfThisProgram } from './views-of-this-program.ts';

/** What is to be done with views that nobody writes to, and may take minutes. */
export type ViewsTask =
  | { readonly type: 'upcast'; readonly files: UpcastFiles }
  | { readonly type: 'look'; readonly path: string };

/** That nothing is wrong with the views, and why nothing was made of them all the same: for want of room, or of descriptors. */
export interface NotForNow {
  readonly notForNow: string;
}

/** What `upcastViews`, or `damageOfRows`, answers, or why it cannot. */
export type ViewsTaskDone =
  | NotForNow
  | { readonly upcastFrom: ReadonlyMap<string, number> | null }
  | { readonly damage: string | null }
  | { readonly failed: string };

/** Away from the thread that answers. */
function carryOut(task: ViewsTask): ViewsTaskDone {
  try {
    return task.type === 'upcast'
      ? { upcastFrom: upcastViews(task.files, viewsOfThisProgram()) }
      : { damage: damageOfRows(task.path) };
  } catch (error) {
    if (task.type === 'upcast' && (error instanceof KeptRoomError || mayPass(error)))
      return { notForNow: messageOf(error) };
    return { failed: messageOf(error) };
  }
}

parentPort?.postMessage(carryOut(workerData as ViewsTask));
