import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Answer, failure } from './answer.ts';
import { instructedAnswer, readInstructions } from './instructions.ts';
import type { SeenRequest } from './seen-request.ts';
import { startUpstream } from './upstream.ts';

/**
 * The upstream as a process of its own: `node test/upstream/main.ts --port 0 --record FILE`. It prints one line of JSON
 * (`url`, `port`, `pid`) when it is ready, appends one line of JSON to FILE for each request that it saw, before it
 * answers, and answers as the request's `metadata.script` says (instructions.ts). It ends on SIGTERM or SIGINT.
 */
const { values } = parseArgs({
  options: { port: { type: 'string', default: '0' }, record: { type: 'string' } },
});
const recordFd = values.record === undefined ? null : openSync(values.record, 'a');
const upstream = await startUpstream({ port: Number(values.port), script: answerTo });
process.stdout.write(`${JSON.stringify({ url: upstream.url, port: upstream.port, pid: process.pid })}\n`);

await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
await upstream.close();

function answerTo(request: SeenRequest): Answer {
  const instructed = readInstructions(request);
  const isKnown = typeof instructed !== 'string';
  record({
    index: request.index,
    pid: process.pid,
    atMs: Date.now(),
    method: request.method,
    path: request.path,
    bodyBytes: request.body.length,
    ...(isKnown
      ? {
          id: instructed.id,
          model: instructed.model,
          stream: instructed.isStream,
          betas: instructed.betas,
          script: instructed.instructions,
        }
      : { refused: instructed }),
  });
  if (isKnown) return instructedAnswer(request.path, instructed);
  return failure(400, { type: 'error', error: { type: 'invalid_request_error', message: instructed } });
}

/** One write with O_APPEND: the line is in the file before the answer leaves, whatever is killed afterwards. */
function record(line: object): void {
  if (recordFd !== null) writeSync(recordFd, `${JSON.stringify(line)}\n`);
}
