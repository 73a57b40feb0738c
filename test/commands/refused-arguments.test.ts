import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { writeNote } from '../../ledger/identity/folder-note.ts';
import { newLedgerId } from '../../ledger/identity/identify-ledger.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const KEY = 'key_0123456789abcdef';
const REQUEST = 'req_019a5b3c000070008000000000000001';
const ADA = ['acct_ada'];
const WHY = ['--reason', 'test'];

describe('a reason or a name', () => {
  let program: ProgramInProcess;
  beforeEach(async () => {
    program = endedLater(await programInProcess());
    await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  });

  const OPTIONS: readonly (readonly [string, readonly string[]])[] = [
    ['--reason', ['account', 'suspend', ...ADA]],
    ['--reason', ['account', 'reinstate', ...ADA]],
    ['--reason', ['credits', 'reinstate', ...ADA, '--grant', 'grant_trial']],
    ['--reason', ['credits', 'revoke', ...ADA, '--grant', 'grant_trial']],
    ['--reason', ['credits', 'restore', ...ADA, '--revocation', 'revocation_1']],
    ['--reason', ['debit', 'reverse', REQUEST, '--account', ...ADA]],
    ['--reason', ['balance', 'adjust', ...ADA, '--up', '1']],
    ['--reason', ['exception', 'approve', REQUEST, '--account', ...ADA]],
    ['--reason', ['exception', 'drop', REQUEST, '--account', ...ADA]],
    ['--reason', ['ledger', 'accept-loss']],
    ['--name', ['key', 'issue', ...ADA]],
    ['--id', ['credits', 'revoke', ...ADA, '--grant', 'grant_trial', ...WHY]],
    ['--payment', ['credits', 'revoke', ...ADA, '--grant', 'grant_trial', ...WHY]],
    ['--id', ['debit', 'reverse', REQUEST, '--account', ...ADA, ...WHY]],
    ['--id', ['balance', 'adjust', ...ADA, '--up', '1', ...WHY]],
    ['--id', ['credits', 'grant', ...ADA, '--usd', '1']],
  ];

  it.each(OPTIONS)(
    '%s that says nothing, or does not stand on a line, is wrong usage in `gateway %s`',
    async (option, args) => {
      const before = await program.log.headPosition();
      for (const text of ['', '   ', '\t\n', 'a\nb', 'a\u001b[2Jb', 'a\u202eb', 'a\u2028b', 'x'.repeat(501)])
        await expect(program.run(...args, option, text), JSON.stringify(text)).rejects.toMatchObject({
          code: 'commander.invalidArgument',
          message: expect.stringMatching(/: 1 to 500 characters on one line, no control characters$/),
        });
      expect(await program.log.headPosition()).toBe(before);
    },
  );

  it('is kept without the blanks around it', async () => {
    expect(
      await program.json('account', 'suspend', ...ADA, '--reason', '  Karte strittig, siehe № 7 🙂 '),
    ).toMatchObject({
      suspend: 'Karte strittig, siehe № 7 🙂',
    });
  });
});

describe('what there is not', () => {
  const NOBODY = ['acct_nobody'];
  const NOT_THERE: readonly (readonly [RegExp, readonly string[]])[] = [
    [/no such account/, ['account', 'show', ...NOBODY]],
    [/no such account/, ['account', 'suspend', ...NOBODY, ...WHY]],
    [/no such account/, ['account', 'reinstate', ...NOBODY, ...WHY]],
    [/no such account/, ['credits', 'grant', ...NOBODY, '--usd', '1']],
    [/no such account/, ['credits', 'reinstate', ...NOBODY, '--grant', 'grant_trial', ...WHY]],
    [/no such account/, ['credits', 'revoke', ...NOBODY, '--grant', 'grant_trial', ...WHY]],
    [/no such account/, ['credits', 'restore', ...NOBODY, '--revocation', 'r', ...WHY]],
    [/no such account/, ['balance', 'adjust', ...NOBODY, '--up', '1', ...WHY]],
    [/acct_nobody has no such request/, ['debit', 'reverse', REQUEST, '--account', ...NOBODY, ...WHY]],
    [/the ledger has no such request/, ['debit', 'reverse', REQUEST, ...WHY]],
    [/no such account/, ['key', 'issue', ...NOBODY]],
    [/no such account/, ['key', 'revoke', ...NOBODY, KEY]],
    [/no such account/, ['key', 'list', ...NOBODY]],
    [/no such account/, ['limit', 'set', ...NOBODY, '--usd', '1']],
    [/no such account/, ['exception', 'list', ...NOBODY]],
    [/no such account/, ['exception', 'list', ...NOBODY, '--all']],
    [/no such account/, ['exception', 'approve', REQUEST, '--account', ...NOBODY, ...WHY]],
    [/no such account/, ['exception', 'drop', REQUEST, '--account', ...NOBODY, ...WHY, '--dry-run']],
    [/no such account/, ['ledger', 'events', ...NOBODY]],
    [/no grant grant_none/, ['credits', 'reinstate', ...ADA, '--grant', 'grant_none', ...WHY]],
    [/no grant grant_none/, ['credits', 'revoke', ...ADA, '--grant', 'grant_none', ...WHY]],
    [/no revocation r/, ['credits', 'restore', ...ADA, '--revocation', 'r', ...WHY]],
    [/no key key_0/, ['key', 'revoke', ...ADA, KEY]],
    [/no key key_0/, ['limit', 'set', ...ADA, '--key', KEY, '--usd', '1']],
    [/has no exception/, ['exception', 'approve', REQUEST, '--account', ...ADA, ...WHY]],
    [/has no exception/, ['exception', 'drop', REQUEST, '--account', ...ADA, ...WHY, '--dry-run']],
    [/no account has an exception/, ['exception', 'approve', REQUEST, ...WHY]],
    [/no account has an exception/, ['exception', 'drop', REQUEST, ...WHY, '--dry-run']],
  ];

  it('is refused by every command that takes an account, a grant, a key or a request', async () => {
    const program = endedLater(await programInProcess());
    await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
    const before = await program.log.headPosition();
    for (const [message, args] of NOT_THERE)
      await expect(program.run(...args), args.join(' ')).rejects.toMatchObject({
        name: 'CommandError',
        message: expect.stringMatching(message),
        exitCode: 3,
      });
    expect(await program.log.headPosition()).toBe(before);
    expect(await program.json('exception', 'list', ...ADA)).toEqual({ exceptions: [], unlisted: 0 });
  });
});

describe("a ledger's file that is gone", () => {
  const READING = [
    ['account', 'list'],
    ['account', 'show', ...ADA],
    ['key', 'list', ...ADA],
    ['catalog', 'show'],
    ['exception', 'list'],
    ['ledger', 'events', ...ADA],
  ];

  async function runIn(data: string, args: readonly string[]): Promise<void> {
    const program = endedLater(await programInProcess());
    const context = {
      ...program.context,
      openEventLog: () => openSqliteEventLog({ path: join(data, 'ledger.db') }),
    };
    await (await gatewayProgram(context)).parseAsync(['--data', data, ...args], { from: 'user' });
  }

  it('is not made by a command that looks, which says which file is missing', async () => {
    const data = temporaryFolder();
    for (const args of READING)
      await expect(runIn(data, args), args.join(' ')).rejects.toMatchObject({
        message: `${join(data, 'ledger.db')}: there is no such ledger; look whether --data or --config is the right one`,
        exitCode: 4,
      });
    expect(existsSync(join(data, 'ledger.db'))).toBe(false);
  });

  it('where the folder knows that there was one, is made by no command, and the message says how to go on', async () => {
    const data = temporaryFolder();
    writeNote(data, { ledgerId: newLedgerId(0), generation: 1, newest: null, leases: {}, earlier: [] });
    for (const args of [...READING, ['credits', 'grant', ...ADA, '--usd', '1']])
      await expect(runIn(data, args), args.join(' ')).rejects.toMatchObject({
        name: 'LedgerLostError',
        message: expect.stringMatching(/ledger\.db is missing: .* belongs to the ledger ledger_\w+\.\n.*accept-loss/s),
      });
    expect(existsSync(join(data, 'ledger.db'))).toBe(false);
  });
});

describe('an argument out of its bounds', () => {
  const long = (characters: number): string => `${'a'.repeat(60)}@${'b.'.repeat((characters - 64) / 2)}com`;

  it.each([
    ['--usd', ['credits', 'grant', ...ADA, '--usd', '9000000000000'], /expected at most 999,999,999,999\.999999 USD$/],
    [
      '--from',
      ['ledger', 'events', ...ADA, '--from', '99999999999999999999'],
      /a whole number of at most 9007199254740991$/,
    ],
    ['--email', ['account', 'open', '--email', long(256)], /an e-mail address of at most 254 characters$/],
    ['--data', ['account', 'list', '--data', ''], /'--data <folder>' .*expected a path; this one is empty$/],
    ['--config', ['account', 'list', '--config', ' '], /'--config <file>' .*expected a path; this one is empty$/],
  ])('is told with the bound: %s', async (_option, args, says) => {
    const program = endedLater(await programInProcess());
    await expect(program.run(...args)).rejects.toMatchObject({
      code: 'commander.invalidArgument',
      message: expect.stringMatching(says),
    });
  });

  it('is taken at the bound', async () => {
    const program = endedLater(await programInProcess());
    expect(long(254)).toHaveLength(254);
    await program.run('account', 'open', '--email', long(254), '--id', ...ADA);
    await program.run('limit', 'set', ...ADA, '--usd', '999999999999.999999');
  });
});

describe('what a start or a command is given', () => {
  it('a variable GATEWAY_CONFIG that is empty is none', async () => {
    const before = process.env.GATEWAY_CONFIG;
    onTestFinished(() => {
      if (before === undefined) delete process.env.GATEWAY_CONFIG;
      else process.env.GATEWAY_CONFIG = before;
    });
    process.env.GATEWAY_CONFIG = '';
    const data = join(temporaryFolder(), 'data');
    expect(await runHere('account', 'open', '--email', 'ada@example.com', '--data', data)).toMatchObject({
      exitCode: 0,
    });
  });

  it.each(['serve --port 0', 'account open --email ada@example.com'])(
    'a folder that cannot be made is told in one line by `%s`',
    async (command) => {
      // Nobody makes a folder there, root neither.
      expect(await runHere(...command.split(' '), '--data', '/proc/nope/data')).toEqual({
        ...{ exitCode: 4, stdout: '' },
        stderr: expect.stringMatching(/^gateway: the data folder \/proc\/nope\/data cannot be made: .*\n$/),
      });
    },
  );

  it.each([
    ['behind a file', 'file/data', /^gateway: what .*file\/data knows of its ledger cannot be read: .*ENOTDIR.*\n$/, 2],
    ['of too long a name', 'x'.repeat(300), /^gateway: .* cannot be a data folder: ENAMETOOLONG.*\n$/, 2],
    ['behind a link that leads in a circle', 'circle/data', /^gateway: .* cannot be a data folder: ELOOP.*\n$/, 4],
  ])(
    'a data folder %s is told in one line, and so is a backup, a report, or a ledger to look at, that would be there',
    async (_what, name, says, code) => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'file'), '');
      symlinkSync('circle', join(folder, 'circle'));
      const [data, there] = [join(folder, 'data'), join(folder, name)];
      for (const command of ['serve --port 0', 'account list', 'account open --email ada@example.com'])
        expect(await runHere(...command.split(' '), '--data', there), command).toEqual({
          ...{ exitCode: 4, stdout: '', stderr: expect.stringMatching(says) },
        });
      await runHere('account', 'open', '--email', 'ada@example.com', '--data', data);
      expect(await runHere('ledger', 'backup', there, '--data', data)).toEqual({
        ...{ exitCode: 4, stdout: '', stderr: expect.stringMatching(/^gateway: .*: cannot be written: E.*\n$/) },
      });
      expect(await runHere('ledger', 'reconcile', there, '--provider', 'x', '--data', data)).toEqual({
        ...{ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^gateway: .*\n$/) },
      });
      for (const command of ['verify --all', 'report --month 2026-11', 'export --format csv'])
        expect(await runHere('ledger', ...command.split(' '), '--offline', there), command).toEqual({
          ...{ exitCode: code, stdout: '', stderr: expect.stringMatching(/^gateway: .*\n$/) },
        });
    },
  );

  it.each(['', 'junk\n'])('a proxy-id of %j ends a start in one line', async (content) => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'proxy-id'), content);
    expect(await runHere('serve', '--port', '0', '--data', data)).toMatchObject({
      ...{ exitCode: 4, stdout: '' },
      stderr: expect.stringMatching(/^gateway: .*proxy-id holds no proxy's name; delete it, .*\n$/),
    });
  });
});
