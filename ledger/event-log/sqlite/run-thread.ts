import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import { EventLogError } from '../../../contracts/event-log.ts';
import { messageOf } from '../../../contracts/message-of.ts';
import { giveBackOnceStarted } from '../../give-back-memory.ts';
import { CLOSE, OPEN, type ThreadData, type ThreadOpened } from './messages.ts';
import type { OpenedFile } from './opened-file.ts';

interface ThreadWork<Message, Answer> {
  readonly answer: (message: Message) => Answer;
  /** What is to be done when the answer is on its way. */
  readonly behind?: (message: Message, answer: Answer) => void;
  readonly file: OpenedFile;
  readonly close: () => void;
}

/** The life of a log's thread: opens the file when it is told to, answers each message, ends with CLOSE. */
export function runThread<Message, Answer>(open: (data: ThreadData) => ThreadWork<Message, Answer>): void {
  assert(parentPort !== null, 'this is the main module of a worker thread');
  const port = parentPort;
  let work: ThreadWork<Message, Answer> | null = null;
  giveBackOnceStarted();
  port.on('message', (message: Message | typeof OPEN | typeof CLOSE) => {
    if (message === OPEN) {
      const [opened, answerer] = tryToOpen(open);
      work = answerer;
      port.postMessage(opened);
    } else if (message === CLOSE) {
      work?.close();
      port.close();
    } else {
      assert(work !== null, 'what is asked is asked of an open file');
      const answer = work.answer(message);
      port.postMessage(answer);
      work.behind?.(message, answer);
    }
  });
}

function tryToOpen<Message, Answer>(
  open: (data: ThreadData) => ThreadWork<Message, Answer>,
): [ThreadOpened, ThreadWork<Message, Answer> | null] {
  try {
    const work = open(workerData as ThreadData);
    return [{ type: 'opened', file: work.file.identity }, work];
  } catch (fault) {
    const kind = fault instanceof EventLogError && fault.kind === 'invalid' ? 'invalid' : 'unavailable';
    return [{ type: 'refused', kind, message: messageOf(fault) }, null];
  }
}
