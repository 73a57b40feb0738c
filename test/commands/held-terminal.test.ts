import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { asking, call, post } from '../fixtures/gateway/call.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { PROGRAM, runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const LOGGER = fileURLToPath(new URL('../../proxy/program/program-logger.ts', import.meta.url));
/** Whoever may open no terminal of ours. */
const AS_OTHER = ['--reuid=65534', '--clear-groups'];

// Without them these are shown as skipped.
const isThere = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
const reads = ['--eval', 'fs.readFileSync(process.argv[1])', LOGGER];
const isOther = isThere && spawnSync('setpriv', [...AS_OTHER, process.execPath, ...reads]).status === 0;

/** Ctrl-S: a terminal that has it takes nothing. */
const HOLD = '\x13';

/** A command line on a terminal of its own, which may be held. */
function onTerminal(commandLine: readonly string[], { isHeld = false } = {}) {
  const pidFile = join(temporaryFolder(), 'pid');
  const words = commandLine.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const terminal = spawn('script', ['-qefc', `echo $$ > '${pidFile}'; exec ${words}`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, SHELL: '/bin/sh' },
  });
  const type = (text: string): void => void terminal.stdin.write(text);
  const hold = (): void => type(HOLD);
  if (isHeld) hold();
  const lines: string[] = [];
  terminal.stdout.setEncoding('utf8').on('data', (piece: string) => lines.push(piece));
  const kill = (signal: NodeJS.Signals): boolean => process.kill(Number(readFileSync(pidFile, 'utf8')), signal);
  onTestFinished(() => {
    if (terminal.exitCode === null) kill('SIGKILL');
  });
  return { type, hold, kill, shown: () => lines.join(''), ended: once(terminal, 'exit') };
}

const serving = (data: string, port: number): string[] => [
  ...[process.execPath, PROGRAM, '--json', 'serve', '--data', data, '--port', String(port)],
];

it.runIf(isThere)(
  'a gateway whose terminal is held serves on, and ends when it is told to, with nothing lost of the ledger',
  async () => {
    const [data, port] = [join(temporaryFolder(), 'data'), await freePort()];
    const { hold, kill, shown, ended } = onTerminal(serving(data, port));
    await expect.poll(shown).toMatch(/"key":"sk-svc-[\w-]+"/);
    const [key = ''] = /sk-svc-[\w-]+/.exec(shown()) ?? [];
    const one = { url: `http://127.0.0.1:${port}`, key };
    hold();
    for (let request = 0; request < 5; request++)
      expect((await post(one, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const { stdout } = await runProgram('ledger', 'events', 'acct_demo', '--data', data);
    expect(stdout.match(/UsageRecorded/g)).toHaveLength(5);
  },
);

it.runIf(isThere)('a gateway that starts on a terminal that is held serves, and ends when it is told to', async () => {
  const [data, port] = [join(temporaryFolder(), 'data'), await freePort()];
  // With a configuration there is no demo account to be opened before its first words.
  const file = join(temporaryFolder(), 'gateway.json');
  writeFileSync(file, JSON.stringify({ logLevel: 'silent', accessLog: 'none' }));
  const { kill, ended } = onTerminal([...serving(data, port), '--config', file], { isHeld: true });
  const ready = async (): Promise<number> => {
    try {
      return (await call(`http://127.0.0.1:${port}`, '/readyz')).status;
    } catch {
      // Nobody listens yet.
      return 0;
    }
  };
  await expect.poll(ready).toBe(200);
  // Also behind them.
  for (let times = 0; times < 3; times++) expect(await ready()).toBe(200);
  kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

it.runIf(isOther).each([
  [
    'that holds what was said half a second before',
    "logger.info('the last'); setTimeout(() => process.exit(0), 500);",
    128 + 9,
  ],
  ['that holds what was said just before', "logger.info('the last'); setImmediate(() => process.exit(0));", 128 + 9],
  ['that would hold its last word', "logger.info('the last'); process.exit(0);", 0],
  ["that would hold what is said of its requests' log", "place.writeLater(() => '{}\\n'); process.exit(0);", 0],
])('a process that may not open its terminal anew is not kept from its end by one %s', async (_what, ending, code) => {
  const program = `import { read } from 'node:fs';
    import { accessLogPlace, programLogger } from ${JSON.stringify(LOGGER)};
    const logger = programLogger({ logLevel: 'info' });
    const place = accessLogPlace(logger);
    // What is shown may still be on its way for who wrote it.
    const written = (then) => (process.getActiveResourcesInfo().includes('FSReqCallback') ? setImmediate(written, then) : then());
    logger.info('a word');
    setImmediate(written, () => read(0, Buffer.alloc(9), () => { ${ending} }));`;
  const { type, shown, ended } = onTerminal([
    ...['setpriv', ...AS_OTHER, process.execPath, '--input-type=module', '--eval', program],
  ]);
  await expect.poll(shown).toContain('a word');
  // Whoever reads this knows that the terminal is held.
  type(`${HOLD}go\n`);
  expect(await ended).toEqual([code, null]);
});
