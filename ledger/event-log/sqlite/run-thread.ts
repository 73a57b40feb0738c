import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import { messageOf } from './database-fault.ts';
import { CLOSE, type ThreadData, type ThreadOpened } from './messages.ts';

export interface ThreadWork<Message, Answer> {
  readonly answer: (message: Message) => Answer;
  readonly close: () => void;
}

/** The life of a log's thread: says whether it has the file, answers each message, ends with CLOSE. */
export function runThread<Message, Answer>(open: (data: ThreadData) => ThreadWork<Message, Answer>): void {
  assert(parentPort !== null, 'this is the main module of a worker thread');
  const port = parentPort;
  const report = (opened: ThreadOpened): void => port.postMessage(opened);
  let work: ThreadWork<Message, Answer>;
  try {
    work = open(workerData as ThreadData);
  } catch (fault) {
    const kind = fault instanceof EventLogError && fault.kind === 'invalid' ? 'invalid' : 'unavailable';
    report({ type: 'refused', kind, message: messageOf(fault) });
    return;
  }
  port.on('message', (message: Message | typeof CLOSE) => {
    if (message !== CLOSE) {
      port.postMessage(work.answer(message));
      return;
    }
    work.close();
    port.close();
  });
  report({ type: 'opened' });
}
