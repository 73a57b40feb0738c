import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { replaceFile } from '../../ledger/replace-file.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import type { ProgramRun } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const isRoot = process.geteuid?.() === 0;
/** Somebody else. */
const NOBODY = 65_534;

/** Every path under a folder that is not this user's. */
const notOf = (uid: number, folder: string): string[] =>
  pathsIn(folder).filter((path) => {
    const is = statSync(path, { throwIfNoEntry: false });
    return is !== undefined && (is.uid !== uid || is.gid !== uid);
  });

const pathsIn = (folder: string): string[] =>
  ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })].map((name) => join(folder, name));

describe.runIf(isRoot)('what root makes in a folder of somebody else', () => {
  it('is that one’s: by commands that begin a ledger, a gateway, and a loss that is accepted', async () => {
    const home = temporaryFolder();
    chownSync(home, NOBODY, NOBODY);
    const data = join(home, 'made', 'data');
    const run = (...args: string[]) => runHere(...args, '--data', data);
    expect(await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada')).toMatchObject({
      exitCode: 0,
    });
    expect(existsSync(join(data, 'ledger.db-pair'))).toBe(true);
    expect(notOf(NOBODY, home)).toEqual([]);
    copyFileSync(join(data, 'ledger.db'), join(home, 'backup.db'));
    chownSync(join(home, 'backup.db'), NOBODY, NOBODY);
    const gateway = await startTestGateway({ data, settings: { proxies: 'many' } });
    for (const file of ['gateway.json', 'catalog.json']) chownSync(join(data, file), NOBODY, NOBODY);
    expect(readdirSync(data)).toEqual(
      expect.arrayContaining(['ledger-id', 'proxy-id', 'proxy-claims.json', 'providers.json']),
    );
    expect(notOf(NOBODY, home)).toEqual([]);
    await gateway.command({ type: 'SuspendAccount', reason: 'fraud' }, accountId('acct_ada'));
    await gateway.gateway.process.projections.whenWritten();
    await gateway.stop();
    for (const end of ['', '-wal', '-shm', '-pair']) rmSync(join(data, `ledger.db${end}`), { force: true });
    copyFileSync(join(home, 'backup.db'), join(data, 'ledger.db'));
    chownSync(join(data, 'ledger.db'), NOBODY, NOBODY);
    expect(await run('ledger', 'accept-loss', '--reason', 'old backup')).toMatchObject({ exitCode: 0 });
    expect(readdirSync(data)).toEqual(expect.arrayContaining(['refused.json', 'to-do-again.generation-2.json']));
    expect(notOf(NOBODY, home)).toEqual([]);
  });

  it('leaves what a link leads to alone', async () => {
    const home = temporaryFolder();
    const target = join(temporaryFolder(), 'of root');
    writeFileSync(target, 'as it was');
    chownSync(home, NOBODY, NOBODY);
    symlinkSync(target, join(home, 'ledger-id.new'));
    expect(() => replaceFile(join(home, 'ledger-id'), 'x')).toThrow(/ELOOP/);
    expect(statSync(target).uid).toBe(0);
  });
});

/** Carries out commands in one process, by root as somebody else, and tells how each has ended. */
function runAll(commands: readonly (readonly string[])[]): readonly ProgramRun[] {
  const script = `import { runHere } from ${JSON.stringify(new URL('../fixtures/processes/run-here.ts', import.meta.url).href)};
    const runs = [];
    for (const args of ${JSON.stringify(commands)}) runs.push(await runHere(...args));
    process.stdout.write(JSON.stringify(runs));`;
  const file = join(temporaryFolder(), 'run.mjs');
  writeFileSync(file, script);
  chmodSync(dirname(file), 0o711);
  const { stdout, stderr } = spawnSync(process.execPath, [file], {
    encoding: 'utf8',
    timeout: 60_000,
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout);
}

/** A checkout may lie where nobody but its owner comes to. */
const canBeRun =
  !isRoot || spawnSync(process.execPath, ['--check', import.meta.filename], { uid: NOBODY, gid: NOBODY }).status === 0;

describe.runIf(canBeRun)('a file that whoever runs this may not use', () => {
  const CASES: readonly (readonly [string, ...string[]])[] = [
    ...['ledger-id', 'ledger.db', 'views.db', 'journal', 'journal/lock.db', 'proxy-id', ''].map(
      (name) => [name, 'serve', '--port', '0'] as const,
    ),
    ...['ledger-id', 'ledger.db', ''].map((name) => [name, 'account', 'list'] as const),
    ['providers.json', 'catalog', 'publish', CATALOG],
  ];

  it('is told with its way out, and never as damage', async () => {
    const { data: whole, stop, gateway } = await startTestGateway();
    await gateway.process.settlement.idle();
    await stop();
    writeFileSync(join(whole, 'providers.json'), '{}');
    chmodSync(dirname(whole), 0o711);
    const commands = CASES.map(([name, ...command]) => {
      const home = temporaryFolder();
      const data = join(home, 'data');
      cpSync(whole, data, { recursive: true });
      chmodSync(home, 0o711);
      if (isRoot) for (const path of pathsIn(data)) chownSync(path, NOBODY, NOBODY);
      const path = join(data, name);
      const mode = statSync(path).isDirectory() ? 0o700 : 0o600;
      if (isRoot) chownSync(path, 0, 0);
      chmodSync(path, isRoot ? mode : 0);
      onTestFinished(() => chmodSync(path, mode));
      return { path, command: [...command, '--data', data] };
    });
    const runs = runAll(commands.map(({ command }) => command));
    for (const [at, { path, command }] of commands.entries()) {
      const { exitCode, stderr } = runs[at] ?? {};
      expect({ command, exitCode, stderr }).toEqual({
        ...{ command, exitCode: 4 },
        stderr: expect.stringMatching(
          isRoot ? /^gateway: .* belongs to uid 0 .*: chown -R 65534:65534 \S+\n$/ : /^gateway: .*chmod u\+rwx? \S+\n$/,
        ),
      });
      expect(stderr).toContain(`${path} `);
      expect(stderr).not.toMatch(/move it away|put it back|damaged|delete/);
    }
  });

  it('is told of a backup’s folder as such, and not as none', async () => {
    const home = temporaryFolder();
    const backup = join(home, 'backup');
    mkdirSync(backup);
    writeFileSync(join(backup, 'manifest.json'), '{}');
    for (const folder of [dirname(home), home]) chmodSync(folder, 0o711);
    chmodSync(backup, isRoot ? 0o700 : 0);
    onTestFinished(() => chmodSync(backup, 0o700));
    const [run] = runAll([['ledger', 'restore', backup, '--data', join(home, 'data')]]);
    expect(run).toMatchObject({ exitCode: 4, stderr: expect.stringContaining(`gateway: ${backup} `) });
    expect(run?.stderr).toMatch(isRoot ? /belongs to uid 0/ : /is closed to its own owner/);
  });
});
