import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../fixtures/gateway/call.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));
const PRELOAD = fileURLToPath(new URL('lost-thread-preload.ts', import.meta.url));
const EXIT_UNAVAILABLE = 4;

/** A gateway on a folder of its own, of which one thread ends by itself when it is told to. */
function startWithThread(module: string) {
  const folder = temporaryFolder();
  const file = join(folder, 'end-it');
  const args = ['--import', PRELOAD, PROGRAM, '--json', 'serve', '--port', '0', '--data', join(folder, 'data')];
  const env = { ...process.env, LOST_THREAD: module, LOST_THREAD_FILE: file };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const stderr = text(child.stderr);
  const ended = once(child, 'exit');
  return { child, loseThread: () => writeFileSync(file, ''), stderr, ended };
}

async function serveWithThread(module: string) {
  const { child, ...started } = startWithThread(module);
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { ...started, ...(JSON.parse(String(line)) as { url: string; key: string }) };
}

it.each([
  ['writer-thread.ts', 'the thread that writes'],
  ['reader-thread.ts', 'the thread that reads'],
  ['view-store-worker.ts', 'the views cannot be written any more'],
])(
  'a gateway whose %s ends by itself says so, and ends with the code upon which a supervisor starts it again',
  async (module, said) => {
    const { url, key, loseThread, stderr, ended } = await serveWithThread(module);
    const body = { model: 'svc-mock', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] };
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    expect((await call(url, '/v1/messages', { headers, body })).status).toBe(200);
    loseThread();
    expect(await ended).toEqual([EXIT_UNAVAILABLE, null]);
    const lines = (await stderr).trim().split('\n');
    expect(lines.filter((line) => line.includes(said) && line.includes('out of memory, say'))).not.toEqual([]);
    // One line, and no stack.
    expect(lines.filter((line) => line.includes('"stack"'))).toEqual([]);
    expect(lines.at(-1)).toMatch(/^gateway: .* cannot /);
  },
  60_000,
);

it('a gateway whose views cannot be written from the start on says just that, whatever fails while it stops', async () => {
  const { loseThread, stderr, ended } = startWithThread('view-store-worker.ts');
  loseThread();
  expect(await ended, await stderr).toEqual([EXIT_UNAVAILABLE, null]);
  expect((await stderr).trim().split('\n').at(-1)).toMatch(/^gateway: .* cannot .*out of memory, say/);
}, 60_000);
