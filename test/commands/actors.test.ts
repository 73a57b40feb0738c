import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../proxy/program/command-error.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Who gives a command line's commands: `--actor` and `--as`. */
const ADA = ['--as', 'Ada@example.com'];

/** What a command of one account is given behind the account, that it would be carried out by an operator. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'account show': [],
  'account usage': [],
  'account suspend': ['--reason', 'x'],
  'account reinstate': ['--reason', 'x'],
  'credits grant': ['--usd', '1'],
  'credits reinstate': ['--grant', 'grant_trial', '--reason', 'x'],
  'credits revoke': ['--grant', 'grant_trial', '--reason', 'x'],
  'credits restore': ['--revocation', 'x', '--reason', 'x'],
  'credits purchase': ['--usd', '1'],
  'payment refund': ['p', '--usd', '1'],
  'payment dispute': ['p', '--usd', '1', '--id', 'd'],
  'payment close-dispute': ['p', '--id', 'd', '--outcome', 'won'],
  'payment list': [],
  'payment ask': [],
  'payment confirm': [],
  'payment decline': ['--reason', 'x'],
  'key issue': [],
  'key revoke': ['key_none'],
  'key list': [],
  'limit set': ['--usd', '5'],
};

let program: ProgramInProcess;
let commands: readonly (readonly [string, Command])[];
beforeAll(async () => {
  program = endedLater(await programInProcess(), afterAll);
  const of = await gatewayProgram(program.context);
  commands = of.commands.flatMap((group) =>
    group.commands.length === 0
      ? [[group.name(), group] as const]
      : group.commands.map((one) => [`${group.name()} ${one.name()}`, one] as const),
  );
  for (const [id, email] of [
    ['acct_ada', 'ada@example.com'],
    ['acct_eve', 'eve@example.com'],
  ] as const)
    await program.run('account', 'open', '--email', email, '--id', id);
});

const said = (...args: readonly string[]): Promise<unknown> =>
  program.run(...args).then(
    () => 'done',
    ({ exitCode, message }: { exitCode: number; message: string }) => ({ exitCode, message }),
  );

describe('--as', () => {
  it('is told the same of an account of others as of none, by every command that takes it', async () => {
    for (const [name, args] of Object.entries(ARGUMENTS)) {
      const of = (id: string) => said(...name.split(' '), id, ...args, ...ADA);
      const ofNone = { exitCode: EXIT.refused, message: 'acct_none: there is no such account' };
      expect(await of('acct_none'), name).toEqual(ofNone);
      expect(await of('acct_eve'), name).toEqual({ ...ofNone, message: 'acct_eve: there is no such account' });
    }
  });

  it('is refused by every other command, whatever it is given', async () => {
    const others = commands.filter(([name]) => ARGUMENTS[name] === undefined);
    expect(others.length).toBeGreaterThan(30);
    for (const [name, command] of others) {
      const needed = command.options.filter(({ mandatory }) => mandatory);
      const options = needed.flatMap(({ long, argChoices }) => [
        String(long),
        argChoices?.[0] ?? GIVEN[String(long)] ?? '1',
      ]);
      const values = command.registeredArguments
        .filter(({ required }) => required)
        .map((argument) => argument.argChoices?.[0] ?? 'acct_ada');
      expect(await said(...name.split(' '), ...values, ...options, ...ADA), name).toEqual({
        exitCode: EXIT.refused,
        message: '--as: this command is for operators alone',
      });
    }
    expect(await said('payment', 'list', ...ADA)).toMatchObject({ message: '--as: say the account' });
  });

  it('lets an owner do what the table says, and says of the rest whose it is', async () => {
    expect(await program.json('key', 'list', 'acct_ada', ...ADA)).toEqual([]);
    expect(await program.json('account', 'show', 'acct_ada', ...ADA)).toMatchObject({ accountId: 'acct_ada' });
    expect(await program.json('limit', 'set', 'acct_ada', '--usd', '5', ...ADA)).toMatchObject({
      limitMicroUsd: '5000000',
    });
    expect(await said('credits', 'grant', 'acct_ada', '--usd', '1', ...ADA)).toEqual({
      exitCode: EXIT.refused,
      message: 'acct_ada: owner may not grant credits: that is for operator',
    });
  });
});

it('who did it stands in the ledger: the member, the actor that is named, else the system’s user', async () => {
  const folder = temporaryFolder();
  const actorOf = async (...args: string[]): Promise<unknown> => {
    expect(await runHere(...args, '--data', folder)).toMatchObject({ exitCode: 0 });
    const { stdout } = await runHere('ledger', 'events', 'acct_ada', '--json', '--data', folder);
    return stdout;
  };
  expect(
    await actorOf('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--actor', 'grace'),
  ).toContain('"actor":"grace"');
  expect(await actorOf('key', 'issue', 'acct_ada', ...ADA)).toContain('"actor":"Ada@example.com"');
  expect(await actorOf('limit', 'set', 'acct_ada', '--usd', '1')).toContain('"actor":"operator"');
  expect(await runHere('key', 'list', 'acct_ada', ...ADA, '--actor', 'x', '--data', folder)).toMatchObject({
    exitCode: EXIT.usage,
  });
});

const GIVEN: Readonly<Record<string, string>> = {
  '--email': 'x@example.com',
  '--account': 'acct_ada',
  '--month': '2027-01',
};
