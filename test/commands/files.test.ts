import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tightenFolder } from '../../proxy/program/serve/tighten-folder.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram, serve, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const REQUEST = 'req_019a5b3c000070008000000000000001';
const WHY = ['--reason', 'test'];

/** Every path under a folder with its permissions, as "0600 data/ledger.db". */
function listing(folder: string, name = ''): string[] {
  const path = join(folder, name);
  const is = statSync(path);
  const line = `0${(is.mode & 0o777).toString(8)} ${name}`;
  return is.isDirectory()
    ? [line, ...readdirSync(path).flatMap((inner) => listing(folder, join(name, inner)))]
    : [line];
}

describe('what a gateway and commands write', () => {
  let umask = 0;
  beforeAll(() => {
    umask = process.umask(0);
  });
  afterAll(() => {
    process.umask(umask);
  });

  it('is its owner’s alone, whatever the umask', async () => {
    const above = temporaryFolder();
    const data = join(above, 'made', 'data');
    const opened = await runProgram('account', 'open', '--email', 'ada@example.com', '--data', data);
    expect(opened).toMatchObject({ exitCode: 0, stderr: `a new ledger was begun: ${join(data, 'ledger.db')}\n` });
    const { child, ready } = await serve('--data', data);
    onTestFinished(async () => {
      await stop(child);
    });
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200);
    await runProgram('catalog', 'publish', CATALOG, '--data', data);
    const made = listing(above, 'made');
    for (const file of [
      'ledger.db',
      'ledger.db-wal',
      'ledger.db-shm',
      'views.db',
      'views.db-wal',
      'ledger-id',
      'journal/lock.db',
    ])
      expect(made).toContain(`0600 made/data/${file}`);
    for (const line of made) expect(line).toMatch(/^0700 (?:made|made\/data|made\/data\/journal)$|^0600 /);
    await stop(child);
    // All of it is known as the program's.
    expect(readdirSync(data)).toContain('seal-key');
    chmodSync(data, 0o755);
    expect(tightenFolder(data)).toEqual({ tightened: [data], loose: [] });
  });
});

describe('what an earlier program has left open to others', () => {
  it('is closed where it is the program’s own; a folder that others use, too, is only told of', () => {
    const data = temporaryFolder();
    for (const folder of ['journal', 'journal-aside']) mkdirSync(join(data, folder));
    const own = [
      'ledger.db',
      'ledger.db-wal',
      'ledger-id',
      'views.db.before-generation-2',
      'proxy-id',
      'proxy-claims.json',
      'refused.json',
      'providers.json',
      'seal-key',
      'seal-key.next',
      'seal-frontier.json',
      'to-do-again.2.jsonl',
      'lost-requests.2.jsonl',
      'journal/0000000001.journal',
      'journal-aside/0000000001.journal',
    ];
    for (const file of [...own, 'catalog.yaml']) writeFileSync(join(data, file), 'x');
    for (const file of [...own, 'catalog.yaml']) chmodSync(join(data, file), 0o644);
    for (const folder of ['journal', 'journal-aside', '.']) chmodSync(join(data, folder), 0o755);
    const { tightened, loose } = tightenFolder(data);
    expect(tightened).toEqual(
      [...own.slice(0, -2).sort(), 'journal', own.at(-2), 'journal-aside', own.at(-1)].map((file) =>
        join(data, file ?? ''),
      ),
    );
    expect(loose).toEqual([`${data}: others can look into this folder; chmod 700 closes it`]);
    expect(listing(data)).toEqual(expect.arrayContaining(['0755 ', '0644 catalog.yaml', '0700 journal']));
    expect(listing(data).filter((line) => line.startsWith('0600'))).toHaveLength(own.length);
    expect(tightenFolder(data).tightened).toEqual([]);
    // With nothing of anybody else's in it, it is the program's.
    rmSync(join(data, 'catalog.yaml'));
    expect(tightenFolder(data)).toEqual({ tightened: [data], loose: [] });
    expect(listing(data)).toContain('0700 ');
  });
});

describe('a folder in which there is no ledger', () => {
  const COMMANDS: readonly (readonly string[])[] = [
    ['account', 'list'],
    ['account', 'show', 'acct_x'],
    ['account', 'suspend', 'acct_x', ...WHY],
    ['account', 'reinstate', 'acct_x', ...WHY],
    ['credits', 'grant', 'acct_x', '--usd', '1'],
    ['credits', 'reinstate', 'acct_x', '--grant', 'grant_trial', ...WHY],
    ['credits', 'revoke', 'acct_x', '--grant', 'grant_trial', ...WHY],
    ['credits', 'restore', 'acct_x', '--revocation', 'revocation_1', ...WHY],
    ['debit', 'reverse', REQUEST, ...WHY],
    ['balance', 'adjust', 'acct_x', '--up', '1', ...WHY],
    ['key', 'issue', 'acct_x'],
    ['key', 'list', 'acct_x'],
    ['key', 'revoke', 'acct_x', 'key_0123456789abcdef'],
    ['limit', 'set', 'acct_x', '--usd', '1'],
    ['catalog', 'show'],
    ['catalog', 'publish', '/no/such.yaml'],
    ['exception', 'list'],
    ['exception', 'approve', REQUEST, ...WHY],
    ['exception', 'drop', REQUEST, '--account', 'acct_x', ...WHY],
    ['ledger', 'events', 'acct_x'],
    ['ledger', 'forms'],
    ['ledger', 'accept-loss', ...WHY],
    ['relay'],
  ];

  it.each([
    ['is empty', 'empty', /there is no such ledger; look whether --data or --config is the right one/],
    ['is missing', 'missing', /there is no such ledger; look whether --data or --config is the right one/],
    ['is somebody else’s', 'else', /there is no such ledger; look whether --data or --config is the right one/],
    ['is a file', 'file', /this is a file, and no data folder/],
  ])('because it %s stays as it is, and every command says so', async (_why, name, says) => {
    const above = temporaryFolder();
    mkdirSync(join(above, 'empty'));
    mkdirSync(join(above, 'else'));
    for (const file of ['file', 'else/report.txt']) writeFileSync(join(above, file), 'x');
    const config = join(above, 'gateway.json');
    writeFileSync(config, JSON.stringify({ data: name, kafka: { brokers: ['127.0.0.1:1'] } }));
    const before = listing(above);
    for (const command of COMMANDS) {
      const { exitCode, stdout, stderr } = await runHere(...command, '--config', config);
      const isFileFirst = command[1] === 'publish';
      expect({ command, exitCode, stdout }).toEqual({ command, exitCode: isFileFirst ? 2 : 4, stdout: '' });
      expect(stderr, command.join(' ')).toMatch(isFileFirst ? /does not exist/ : says);
      expect(listing(above), command.join(' ')).toEqual(before);
    }
  });

  it('is made by the commands that begin something, which say that they did', async () => {
    for (const command of [
      ['account', 'open', '--email', 'ada@example.com'],
      ['catalog', 'publish', CATALOG],
    ]) {
      const data = join(temporaryFolder(), 'data');
      const { exitCode, stderr } = await runHere(...command, '--data', data);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 0,
        stderr: `a new ledger was begun: ${join(data, 'ledger.db')}\n`,
      });
      expect(existsSync(join(data, 'ledger.db'))).toBe(true);
      expect((await runHere(...command, '--data', data)).stderr).not.toContain('begun');
    }
  });

  it('is made by `serve`, which says so', async () => {
    const data = join(temporaryFolder(), 'data');
    const { child, ready } = await serve('--data', data);
    onTestFinished(async () => {
      await stop(child);
    });
    expect(ready).toMatchObject({ data, begun: join(data, 'ledger.db') });
  });
});
