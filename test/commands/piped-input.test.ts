import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const NO_FILE = 'is no file, but a device, a pipe or a socket';

/** A pipe with a name, and what writes into it once it is read: its exit code, null where it was ended. */
function pipe(writer: string): { readonly path: string; readonly written: Promise<number | null> } {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const child = spawn('sh', ['-c', `${writer} > "$0"`, path], { stdio: 'ignore' });
  onTestFinished(() => {
    child.kill();
  });
  return { path, written: once(child, 'exit').then(([code]) => code) };
}

async function socket(): Promise<string> {
  const path = join(temporaryFolder(), 'socket');
  const server = createServer().listen(path);
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  return path;
}

describe('a pipe that a command line names', () => {
  it('is read as a file is, once, and its paths begin in the working folder', async () => {
    const folder = temporaryFolder();
    const line = 'cat "$1" | "$2" "$3" --json --config <(echo "data: ./data") catalog publish /dev/stdin';
    const child = spawn('bash', ['-c', line, 'bash', CATALOG, process.execPath, PROGRAM], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(stderr).toBe(`a new ledger was begun: ${join(folder, 'data', 'ledger.db')}\n`);
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, published: true });
  }, 60_000);

  it.each([
    ['/dev/stdin', '<'],
    ['/dev/fd/7', '7<'],
    ['/proc/self/fd/7', '7<'],
  ])('%s begins them there, too, where a file is behind it', async (name, redirected) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'gateway.yaml'), 'data: ./data\n');
    const line = `"$1" "$2" account open --email ada@example.com --config ${name} ${redirected} gateway.yaml`;
    const child = spawn('bash', ['-c', line, 'bash', process.execPath, PROGRAM], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    expect(await text(child.stderr)).toBe(`a new ledger was begun: ${join(folder, 'data', 'ledger.db')}\n`);
  });

  it('is refused where nothing comes through it: what should have written has failed', async () => {
    const { path } = pipe(':');
    const refused = await runHere('account', 'list', '--config', path);
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: `gateway: ${path}:\n  is a pipe that nothing came through\n`,
    });
  });

  it('is read no further than a file can be long', async () => {
    const { path, written } = pipe('head -c 64000000 /dev/zero');
    const refused = await runHere('account', 'list', '--config', path);
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`${path}:\n  is a pipe with more than`),
    });
    expect(await written).not.toBe(0);
  });
});

describe.each([
  ['configuration', (file: string) => ['account', 'list', '--config', file]],
  ['catalog', (file: string) => ['catalog', 'publish', file, '--data', temporaryFolder()]],
])('as a %s', (_what, lineOf) => {
  it.each([
    ['a device without an end', () => '/dev/zero', NO_FILE],
    ['a socket', socket, NO_FILE],
    ['a folder', temporaryFolder, 'is a folder'],
  ])('%s is refused unread', async (_what, make, why) => {
    const file = await make();
    expect(await runHere(...lineOf(file))).toEqual({
      ...{ exitCode: 2, stdout: '' },
      stderr: `gateway: ${file}:\n  ${why}\n`,
    });
  });
});

it.each([
  [
    'certificates',
    (file: string) => ({ kafka: { brokers: ['a:1'], topic: 't', partitions: 1, ssl: { caFile: file } } }),
  ],
  ['a catalog', (catalog: string) => ({ catalog })],
])('a pipe that a configuration names for %s is refused unread: a gateway would wait for it', async (_what, naming) => {
  const file = pipe('echo nothing').path;
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, JSON.stringify(naming(file)));
  const refused = await runHere('serve', '--port', '0', '--config', config);
  expect(refused).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(`${file}:?\\s+${NO_FILE}`) });
});
