import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../fixtures/processes/processes.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const AT_LOAD = fileURLToPath(new URL('signal-at-load-preload.ts', import.meta.url));
/** Before any of the program. */
const AT_START = 'data:text/javascript,process.kill(process.pid, "SIGUSR1")';

/** A gateway that would have its debugger at a port of its own: `said` is all that it has said on stderr, once it has ended. */
async function served(...flags: readonly string[]) {
  const port = await freePort();
  const serving = ['--json', 'serve', '--port', '0', '--data', join(temporaryFolder(), 'data')];
  const child = spawn(process.execPath, [`--inspect-port=${port}`, ...flags, PROGRAM, ...serving], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SIGNAL_AT_LOAD: 'SIGUSR1' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = text(child.stderr);
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), once(child, 'exit')]);
  const { url } = JSON.parse(String(line));
  return { child, said, url: String(url), debuggerUrl: `http://127.0.0.1:${port}/json/list` };
}

it.each([
  ['while it serves', []],
  ['while its modules are loaded', ['--import', AT_LOAD]],
  ['before they are, as `npm start` and the image run it', ['--disable-sigusr1', '--import', AT_START]],
])('SIGUSR1 to a gateway, %s, opens no debugger, and it serves on', async (_when, flags) => {
  const { child, said, url, debuggerUrl } = await served(...flags);
  for (let times = 0; times < 10; times++) {
    child.kill('SIGUSR1');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await expect(fetch(debuggerUrl)).rejects.toThrow('fetch failed');
  }
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(await said).not.toMatch(/debugger|inspector/i);
});

it('no process that it starts opens one', () => {
  const sources = globSync('{contracts,ledger,projections,proxy}/**/*.ts', { cwd: ROOT }).map((file) => ({
    file,
    source: readFileSync(join(ROOT, file), 'utf8'),
  }));
  const starting = sources.filter(({ source }) => /\bspawn\(process\.execPath\b|\bfork\(new URL/.test(source));
  expect(starting.map(({ file }) => file).sort()).toEqual([
    'ledger/seals/copy-process.ts',
    'proxy/program/serve/rebuild-process.ts',
  ]);
  for (const { source } of starting) expect(source).toContain("'--disable-sigusr1'");
});
