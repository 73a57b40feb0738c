import { userInfo } from 'node:os';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PERMISSIONS, ROLES, type Role, reachOf } from '../../contracts/permissions.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { COMMANDS } from './account-commands.ts';

/** Who gives a command line's commands: `--actor` and `--as`. */
const EMAILS: Readonly<Record<Role, string>> = {
  owner: 'Ada@example.com',
  admin: 'adm@example.com',
  member: 'mem@example.com',
};
const ADA = ['--as', EMAILS.owner];

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
  const open = ['account', 'open', '--kind', 'organization', '--email'];
  await program.run(...open, 'ada@example.com', '--id', 'acct_ada');
  await program.run(...open, 'eve@example.com', '--id', 'acct_eve');
  for (const role of ['admin', 'member'] as const)
    await program.run('member', 'add', 'acct_ada', EMAILS[role], '--role', role);
});

const said = (...args: readonly string[]): Promise<{ exitCode: number; message: string }> =>
  program.run(...args).then(
    (message) => ({ exitCode: 0, message }),
    ({ exitCode, message }: { exitCode: number; message: string }) => ({ exitCode, message }),
  );

describe('--as', () => {
  it.each(Object.entries(COMMANDS))(
    'is told the same of an account of others as of none: %s',
    async (name, [, ...args]) => {
      const of = (id: string) => said(...name.split(' '), id, ...args, ...ADA);
      const ofNone = { exitCode: EXIT.refused, message: 'acct_none: there is no such account' };
      expect(await of('acct_none')).toEqual(ofNone);
      expect(await of('acct_eve')).toEqual({ ...ofNone, message: 'acct_eve: there is no such account' });
    },
  );

  const byRole = Object.entries(COMMANDS).flatMap(([name, [action, ...args]]) =>
    ROLES.map((role) => [name, role, action, args] as const),
  );
  it.each(byRole)(
    '%s is for the %s where the table says so, and is refused by its own name',
    async (name, role, action, args) => {
      const { exitCode, message } = await said(...name.split(' '), 'acct_ada', ...args, '--as', EMAILS[role]);
      if (reachOf(action, role) !== null) expect(message).not.toMatch(/may not|no such account/);
      else
        expect({ exitCode, message }).toEqual({
          exitCode: EXIT.refused,
          message: expect.stringMatching(`^acct_ada: ${role} may not ${PERMISSIONS[action].does}: that is for `),
        });
    },
  );

  it('is refused by every other command, whatever it is given', async () => {
    const others = commands.filter(([name]) => COMMANDS[name] === undefined && name !== 'plan list');
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

  it('shows what plans cost to everybody', async () => {
    const shown = await said('plan', 'list');
    expect(shown).toMatchObject({ exitCode: 0 });
    for (const email of [EMAILS.member, 'nobody@example.com'])
      expect(await said('plan', 'list', '--as', email)).toEqual(shown);
  });
});

it('account show has payments for who may list them alone, and the hash of a secret for nobody', async () => {
  await program.run('account', 'open', '--kind', 'organization', '--email', EMAILS.owner, '--id', 'acct_paid');
  await program.run('member', 'add', 'acct_paid', EMAILS.admin, '--role', 'admin');
  const { keyId } = await program.json('key', 'issue', 'acct_paid');
  await program.run('key', 'rotate', 'acct_paid', String(keyId));
  const card = ['--id', 'pm_mandate7', '--brand', 'visa', '--last4', '4242'];
  await program.run('payment', 'save-method', 'acct_paid', ...card);
  const reload = ['--threshold-usd', '5', '--target-usd', '20', '--monthly-cap-usd', '100', '--consent'];
  await program.run('credits', 'auto-reload', 'acct_paid', ...reload);
  await program.run('credits', 'purchase', 'acct_paid', '--usd', '20', '--id', 'invoice-7');
  await program.run('payment', 'confirm', 'acct_paid', '--payment', 'transfer-42');
  await program.run('payment', 'refund', 'acct_paid', 'transfer-42', '--usd', '1', '--reason', 'x', '--id', 'refund-7');
  const revoke = ['credits', 'revoke', 'acct_paid', '--reason', 'x', '--usd', '2', '--grant'];
  await program.run(...revoke, 'grant_trial', '--id', 'by-mistake');
  await program.run(...revoke, 'payment_transfer-42', '--cause', 'fraud');
  await program.run(...revoke, 'grant_trial', '--cause', 'refund', '--id', 'refund-9');
  await program.run('credits', 'purchase', 'acct_paid', '--usd', '7', '--id', 'invoice-8');
  const show = ['account', 'show', 'acct_paid'];
  const shownTo = async (...as: readonly string[]) =>
    (await program.run(...show, ...as)) + JSON.stringify(await program.json(...show, ...as));
  const words = ['visa', 'pm_mandate7', 'invoice-7', 'invoice-8', '"reload"', 'auto-reload'];
  words.push('transfer-42', 'refund-7', 'refund-9', '"refund"', 'costBasis');
  const seen = async (...as: readonly string[]) => {
    const shown = await shownTo(...as);
    return words.filter((word) => shown.includes(word));
  };
  expect(await seen('--as', EMAILS.admin)).toEqual([]);
  const { grants, billing } = await program.json(...show, '--as', EMAILS.admin);
  expect(grants).toMatchObject([
    { grantId: 'grant_trial' },
    { grantId: null, source: 'purchase', amount: '20000000', remaining: '17000000' },
  ]);
  const nameless = { revocationId: null, grantId: null };
  expect(billing).toMatchObject({
    revocations: [
      { ...nameless, cause: null, amount: '1000000', restored: '0' },
      { revocationId: 'by-mistake', grantId: 'grant_trial', cause: 'administration', amount: '2000000' },
      { ...nameless, cause: 'fraud', amount: '2000000' },
      { ...nameless, cause: null, amount: '2000000' },
    ],
  });
  expect(await program.run(...show, '--as', EMAILS.admin)).toMatch(/available +18\.0+ USD.*\npaid for +purchase /s);
  for (const as of [[], ADA]) expect(await seen(...as)).toEqual(words);
  expect(await shownTo()).toContain('"previous":{"last4":');
  expect(await shownTo()).not.toMatch(/sha256|[0-9a-f]{64}/);
});

it('account statement has what became of payments for who may list them alone, in each form, and else what moved, and says so', async () => {
  await program.run('account', 'open', '--kind', 'organization', '--email', EMAILS.owner, '--id', 'acct_stated');
  await program.run('member', 'add', 'acct_stated', EMAILS.admin, '--role', 'admin');
  const buy = ['credits', 'purchase', 'acct_stated', '--price-usd', '18', '--usd'];
  await program.run(...buy, '20', '--id', 'invoice-7');
  await program.run('payment', 'confirm', 'acct_stated', '--payment', 'transfer-42');
  const back = ['acct_stated', 'transfer-42', '--usd', '9', '--reason', 'unhappy', '--id'];
  await program.run('payment', 'refund', ...back, 'refund-7');
  await program.run('payment', 'dispute', ...back, 'case-7');
  await program.run('payment', 'close-dispute', ...back.slice(0, 2), ...back.slice(4), 'case-7', '--outcome', 'won');
  await program.run(...buy, '7', '--id', 'invoice-8');
  await program.run('payment', 'decline', 'acct_stated', 'invoice-8', '--reason', 'not wanted');
  const month = new Date(program.clock()).toISOString().slice(0, 7);
  const statement = (format: string, ...as: readonly string[]) =>
    program.run('account', 'statement', 'acct_stated', '--month', month, '--format', format, ...as);
  const words = ['invoice-7', 'transfer-42', '18.00', 'refund-7', 'unhappy', 'case-7', 'invoice-8', 'not wanted'];
  for (const format of ['table', 'csv', 'json', 'html']) {
    const [all, own] = [await statement(format), await statement(format, '--as', EMAILS.admin)];
    const seenIn = (text: string) => words.filter((word) => text.replaceAll(/\s+/g, ' ').includes(word));
    expect(seenIn(all), format).toEqual(words);
    expect(seenIn(await statement(format, ...ADA)), format).toEqual(words);
    expect(seenIn(own), format).toEqual([]);
    for (const said of ['purchased credits granted', 'credits revoked', 'credits given back'])
      expect(own).toContain(said);
  }
  const told = 'What became of payments is left out here: that is for who may see the payments.';
  for (const format of ['table', 'html']) {
    expect(await statement(format, '--as', EMAILS.admin)).toContain(told);
    expect(await statement(format)).not.toContain(told);
  }
  const { sums, closing, movements } = JSON.parse(await statement('json'));
  const shown = JSON.parse(await statement('json', '--as', EMAILS.admin));
  expect(shown).toMatchObject({ sums, closing, withPayments: false, movementsLeftOut: 0 });
  expect(shown.movements).toMatchObject(
    movements.flatMap(({ amount, figure }: { amount: string | null; figure: string | null }) =>
      amount === null ? [] : [{ amount, figure }],
    ),
  );
});

/** Also those of other groups from which money is asked for, or not any more. */
const OF_PAYMENTS = /^payment |^credits (purchase|auto-reload)|^account plan/;

it('each command of payments is refused of an account of another product, whose money another configuration takes', async () => {
  const open = ['account', 'open', '--email', 'ada@example.com', '--product', 'other', '--id', 'acct_other'];
  await program.run(...open);
  const names = commands.map(([name]) => name).filter((name) => OF_PAYMENTS.test(name));
  expect(names.length).toBe(13);
  for (const name of names) {
    const [, ...args] = COMMANDS[name] ?? [];
    expect(await said(...name.split(' '), 'acct_other', ...args), name).toEqual({
      exitCode: EXIT.refused,
      message: expect.stringMatching(
        /^acct_other: its product is other, and this configuration is of gateway: --config/,
      ),
    });
  }
});

it('a member issues keys of its own, sees them alone, and finds no others', async () => {
  const own = ['--as', EMAILS.member];
  const { keyId: mine } = await program.json('key', 'issue', 'acct_ada', '--name', 'mine', ...own);
  const { keyId: of } = await program.json('key', 'issue', 'acct_ada', '--name', 'owners');
  expect(await program.json('key', 'list', 'acct_ada', ...own)).toEqual([
    expect.objectContaining({ member: EMAILS.member, issuer: EMAILS.member }),
    expect.objectContaining({ keyId: mine, name: 'mine', member: EMAILS.member, lastUsedAt: null }),
  ]);
  for (const word of ['rotate', 'revoke'])
    expect(await said('key', word, 'acct_ada', String(of), ...own)).toEqual({
      ...{ exitCode: EXIT.refused, message: `acct_ada: the account has no key ${of}` },
    });
  expect(await said('key', 'issue', 'acct_ada', '--member', EMAILS.admin, ...own)).toMatchObject({
    message: expect.stringMatching(/^acct_ada: member may issue no keys but the member's own/),
  });
  expect(await said('key', 'rotate', 'acct_ada', String(mine), ...own)).toMatchObject({ exitCode: 0 });
});

it('whoever is in an account leaves it by itself, and its keys end, but for the last owner', async () => {
  await program.run('account', 'open', '--kind', 'organization', '--email', EMAILS.owner, '--id', 'acct_left');
  const leave = (email: string) => said('member', 'remove', 'acct_left', email, '--as', email);
  for (const role of ['admin', 'member'] as const) {
    await program.run('member', 'add', 'acct_left', EMAILS[role], '--role', role);
    const { keyId } = await program.json('key', 'issue', 'acct_left', '--as', EMAILS[role]);
    expect(await leave(EMAILS[role].toUpperCase())).toEqual({
      exitCode: 0,
      message: expect.stringContaining(`is no member any more; ended: ${keyId}\n`),
    });
    expect(await leave(EMAILS[role])).toEqual({
      exitCode: EXIT.refused,
      message: 'acct_left: there is no such account',
    });
  }
  expect(await leave(EMAILS.owner)).toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringMatching(/last owner: make somebody else an owner first$/),
  });
});

it('who did it stands in the ledger: the member, the actor that is named, else the system’s user', async () => {
  const folder = temporaryFolder();
  const actorOf = async (...args: string[]): Promise<unknown> => {
    expect(await runHere(...args, '--data', folder)).toMatchObject({ exitCode: 0 });
    const { stdout } = await runHere('ledger', 'events', 'acct_ada', '--json', '--data', folder);
    return stdout;
  };
  const open = ['account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada'];
  expect(await actorOf(...open, '--actor', 'grace')).toContain('"actor":"grace"');
  expect(await actorOf('key', 'issue', 'acct_ada', ...ADA)).toContain('"actor":"Ada@example.com"');
  expect(await actorOf('limit', 'set', 'acct_ada', '--usd', '1')).toContain('"actor":"operator"');
  // Of a process of its own.
  expect(await runProgram('limit', 'set', 'acct_ada', '--usd', '2', '--data', folder)).toMatchObject({ exitCode: 0 });
  const { stdout } = await runHere('ledger', 'events', 'acct_ada', '--json', '--data', folder);
  expect(stdout.trimEnd().split('\n').at(-1)).toContain(`"actor":${JSON.stringify(userInfo().username)}`);
  expect(await runHere('key', 'list', 'acct_ada', ...ADA, '--actor', 'x', '--data', folder)).toMatchObject({
    exitCode: EXIT.usage,
  });
});

const GIVEN: Readonly<Record<string, string>> = {
  '--email': 'x@example.com',
  '--account': 'acct_ada',
  '--month': '2027-01',
};
