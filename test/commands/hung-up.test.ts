import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { gatewayCommand } from '../fixtures/processes/gateway-command.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { end, head, wait, write } from '../upstream/answer.ts';
import { upstreamWithScript } from '../upstream/fixtures/upstream-with-script.ts';
import { streamEvents } from '../upstream/stream-events.ts';

// Without it those on a terminal are shown as skipped.
const isThere = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** What a gateway is started with, and a stream through it that goes on once `goOn` says so. */
async function site() {
  const folder = temporaryFolder();
  const [first = Buffer.alloc(0), ...more] = streamEvents();
  const { promise: gone, resolve: goOn } = Promise.withResolvers<void>();
  const upstream = await upstreamWithScript([head(), write(first), wait(gone), ...more.map(write), end]);
  const [file, port] = [join(folder, 'gateway.json'), await freePort()];
  writeFileSync(join(folder, 'catalog.json'), JSON.stringify(TEST_CATALOG));
  const configuration = {
    listen: { port },
    data: join(folder, 'data'),
    catalog: join(folder, 'catalog.json'),
    providers: { test: { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'HUNG_UP_KEY', countTokens: false } },
    // Longer than the test waits.
    shutdownDrainMs: 300_000,
  };
  writeFileSync(file, JSON.stringify(configuration));
  await gatewayCommand(file, 'account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  const { key } = JSON.parse(await gatewayCommand(file, 'key', 'issue', 'acct_ada'));
  const url = `http://127.0.0.1:${port}`;
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(url + path, { headers: { connection: 'close' } }).catch(() => null))?.status ?? 0;
  /** The first of a stream, and then what is left of it. */
  const streaming = async () => {
    await expect.poll(() => statusOf('/readyz')).toBe(200);
    const posted = await postMessage({ url, key: String(key) }, { stream: true });
    expect(await posted.next()).toEqual(first);
    return posted;
  };
  const endsAsItShould = async (posted: Awaited<ReturnType<typeof streaming>>): Promise<void> => {
    await expect.poll(() => statusOf('/readyz')).not.toBe(200);
    goOn();
    expect(await posted.restOrCut()).toEqual({ body: Buffer.concat(more), isCut: false });
  };
  const commandLine = [process.execPath, PROGRAM, 'serve', '--config', file];
  const environment = { ...process.env, HUNG_UP_KEY: 'upstream' };
  return { folder, commandLine, environment, streaming, endsAsItShould };
}

it('SIGHUP stops a gateway in order: a stream that is under way reaches its end, and it ends with 0', async () => {
  const { commandLine, environment, streaming, endsAsItShould } = await site();
  const [node = '', ...args] = commandLine;
  const child = spawn(node, args, { stdio: ['ignore', 'ignore', 'pipe'], env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    said += more;
  });
  const closed = once(child, 'close');
  const posted = await streaming();
  child.kill('SIGHUP');
  await endsAsItShould(posted);
  expect(await closed).toEqual([0, null]);
  expect(said).toMatch(/"signal":"SIGHUP","msg":"stopping"/);
});

/** Ctrl-S: a terminal that has it takes nothing. */
const HOLD = '\x13';

it.runIf(isThere).each([
  ['', ''],
  ['that was held, ', HOLD],
])('so does a terminal that goes away, %sunder `nohup`, too', async (_how, typed) => {
  const { folder, commandLine, environment, streaming, endsAsItShould } = await site();
  const [pidFile, codeFile, inner] = ['pid', 'code', 'inner.sh'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  // Whoever hears of the end stays, and what it starts has the signal ignored, as by `nohup`; the shell of the terminal has it first.
  writeFileSync(inner, `trap '' HUP; '${commandLine.join("' '")}'; echo $? > '${codeFile}'`);
  const terminal = spawn('script', ['-qefc', `echo $$ > '${pidFile}'; sh '${inner}'; true`, '/dev/null'], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { ...environment, SHELL: '/bin/sh' },
  });
  terminal.stdin.write(typed);
  onTestFinished(() => {
    terminal.kill('SIGKILL');
    if (!existsSync(codeFile)) process.kill(-Number(readFileSync(pidFile, 'utf8')), 'SIGKILL');
  });
  const posted = await streaming();
  terminal.kill('SIGKILL');
  await endsAsItShould(posted);
  await expect.poll(() => existsSync(codeFile) && readFileSync(codeFile, 'utf8')).toBe('0\n');
});
