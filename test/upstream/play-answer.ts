import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Answer, Step } from './answer.ts';
import type { Recording } from './seen-request.ts';

/** Plays an answer to its end, or until the client leaves. @throws Error where the answer itself makes no sense. */
export async function playAnswer(answer: Answer, response: ServerResponse, recording: Recording): Promise<void> {
  for (const step of answer) {
    if (recording.gone.aborted) return;
    if (await play(step, response, recording)) return;
  }
  await finish(response, recording);
}

/** Whether the answer is over with this step. */
async function play(step: Step, response: ServerResponse, recording: Recording): Promise<boolean> {
  switch (step.type) {
    case 'head':
      response.writeHead(step.status, step.headers);
      if (step.flush) response.flushHeaders();
      return false;
    case 'write':
      if (!response.headersSent) throw new Error('an answer writes its head before its body');
      recording.wrote(step.bytes.length);
      await untilWritten((done) => response.write(step.bytes, done), recording);
      return false;
    case 'raw':
      return await writeRaw(step.bytes, response, recording);
    case 'wait':
      await Promise.race([step.until, recording.whenGone]);
      return false;
    case 'delay':
      await setTimeout(step.ms, undefined, { signal: recording.gone }).catch(onlyAborted);
      return false;
    case 'silence':
      await recording.whenGone;
      return true;
    case 'end':
      await finish(response, recording);
      return true;
    case 'reset':
      recording.ended();
      // Where the client has left in this very turn there is nothing to reset any more.
      response.socket?.resetAndDestroy();
      return true;
    case 'hangUp':
      recording.ended();
      response.socket?.destroySoon();
      return true;
    default:
      return step satisfies never;
  }
}

async function finish(response: ServerResponse, recording: Recording): Promise<void> {
  recording.ended();
  await untilWritten((done) => response.end(done), recording);
}

/**
 * Until the kernel has the bytes, and one turn of the event loop more: a client in this process then reads this write
 * before the next one comes.
 */
async function untilWritten(start: (done: () => void) => void, recording: Recording): Promise<void> {
  const written = Promise.withResolvers<void>();
  start(() => written.resolve());
  await Promise.race([written.promise, recording.whenGone]);
  await setImmediate();
}

function onlyAborted(error: unknown): void {
  if (!(error instanceof Error && error.name === 'AbortError')) throw error;
}

/** Whether the answer is over: the client has left in this very turn. */
async function writeRaw(bytes: Uint8Array, { socket }: ServerResponse, recording: Recording): Promise<boolean> {
  if (socket === null) return true;
  recording.wrote(bytes.length);
  await untilWritten((done) => socket.write(bytes, done), recording);
  return false;
}
