import { parentPort, workerData } from 'node:worker_threads';
import { giveBackOnceStarted } from '../ledger/give-back-memory.ts';
import { faultOfWrite, RowWriter } from './row-writer.ts';
import type { CloseRequest, StoreThreadData, WriteAnswer, WriteRequest } from './view-store.ts';

/** Carries out what is written in one transaction, away from the thread that serves requests. */
const { path, keepFreeBytes } = workerData as StoreThreadData;
const writer = new RowWriter(path, keepFreeBytes);
giveBackOnceStarted();

parentPort?.on('message', (request: WriteRequest | CloseRequest) => {
  if ('close' in request) {
    writer.close(request.close);
    parentPort?.close();
    return;
  }
  parentPort?.postMessage(write(request));
});

/** Null when this part is carried out, and with the last all of it written. A ROLLBACK that fails ends the thread. */
function write({ batches, isLast }: WriteRequest): WriteAnswer {
  try {
    writer.write(batches);
    if (isLast) writer.commit();
    return null;
  } catch (error) {
    writer.rollBack();
    return faultOfWrite(error);
  }
}
