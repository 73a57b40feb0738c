import { beforeEach, expect, it } from 'vitest';
import { PERMISSIONS, reachOf } from '../../contracts/permissions.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { COMMANDS } from './account-commands.ts';

/** One person, owner of one account and member of another, with a key in each. */
const BO = 'bo@example.com';
const ROLES = { acct_own: 'owner', acct_job: 'member' } as const;
type Account = keyof typeof ROLES;
const ACCOUNTS = Object.keys(ROLES) as Account[];

let program: ProgramInProcess;
let keys: Readonly<Record<Account, string>>;
beforeEach(async () => {
  program = endedLater(await programInProcess());
  const open = ['account', 'open', '--kind', 'organization', '--email'];
  await program.run(...open, BO, '--id', 'acct_own');
  await program.run(...open, 'ada@example.com', '--id', 'acct_job');
  await program.run('member', 'add', 'acct_own', 'ada@example.com', '--role', 'owner');
  await program.run('member', 'add', 'acct_job', BO.toUpperCase());
  const issued = async (account: Account) => String((await program.json('key', 'issue', account, '--as', BO)).keyId);
  keys = { acct_own: await issued('acct_own'), acct_job: await issued('acct_job') };
});

const said = (...args: readonly string[]): Promise<{ exitCode: number; message: string }> =>
  program.run(...args).then(
    (message) => ({ exitCode: 0, message }),
    ({ exitCode, message }: { exitCode: number; message: string }) => ({ exitCode, message }),
  );

it('a person in two accounts may do in each what its role there may, by every command', async () => {
  for (const [name, [action, ...args]] of Object.entries(COMMANDS))
    for (const account of ACCOUNTS) {
      const { exitCode, message } = await said(...name.split(' '), account, ...args, '--as', BO);
      const what = `${name} of ${account}`;
      if (reachOf(action, ROLES[account]) !== null) expect(message, what).not.toMatch(/may not|no such account/);
      else expect({ exitCode, message }, what).toEqual(refusedAs(account, PERMISSIONS[action].does));
    }
});

const refusedAs = (account: Account, does: string) => ({
  exitCode: EXIT.refused,
  message: expect.stringMatching(`^${account}: ${ROLES[account]} may not ${does}: that is for `),
});

it.each([
  ['acct_job', 'acct_own'],
  ['acct_own', 'acct_job'],
] as const)('whoever leaves %s keeps what it is in %s, with its keys', async (left, kept) => {
  const keysIn = (account: Account, ...as: readonly string[]) => program.json('key', 'list', account, ...as);
  const before = await keysIn(kept, '--as', BO);
  expect(await program.run('member', 'remove', left, BO, '--as', BO)).toContain(`ended: ${keys[left]}\n`);
  expect(await said('key', 'list', left, '--as', BO)).toEqual({
    exitCode: EXIT.refused,
    message: `${left}: there is no such account`,
  });
  expect(await keysIn(left)).toMatchObject([{ keyId: keys[left], revokedAtMs: expect.any(Number) }]);
  expect(await keysIn(kept, '--as', BO)).toEqual(before);
  expect(before).toMatchObject([{ keyId: keys[kept], revokedAtMs: null }]);
  const members = (await program.json('member', 'list', kept)) as unknown as { email: string; role: string }[];
  expect(members.find(({ email }) => email.toLowerCase() === BO)).toMatchObject({ role: ROLES[kept] });
  expect(await program.run('key', 'rotate', kept, keys[kept], '--as', BO)).toContain(keys[kept]);
  for (const account of ACCOUNTS) expect(await program.run('ledger', 'verify', account)).toMatch(/no fault/);
});
