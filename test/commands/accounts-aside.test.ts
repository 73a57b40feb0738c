import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { accountId, revision } from '../../contracts/ids.ts';
import { cannotFollow } from '../../ledger/account/account-event.ts';
import { AccountsSetAside } from '../../projections/accounts-set-aside.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { keyIssued } from '../fixtures/ledger/example-account.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';

it('doctor and account show tell of accounts that are parked, and of those that an event has set aside', async () => {
  const { data, stop } = await startTestGateway();
  await stop();
  await runHereForJson('account', 'open', '--email', 'a@example.com', '--id', 'acct_ada', '--data', data);
  const doctor = async () => {
    const { exitCode, stdout } = await runHere('--json', 'doctor', '--data', data);
    const findings = JSON.parse(stdout) as { check: string }[];
    return [exitCode, findings.find(({ check }) => check === 'accounts')];
  };
  const shown = async (id: string) => {
    const { setAside } = await runHereForJson('account', 'show', id, '--data', data);
    return [setAside, (await runHere('account', 'show', id, '--data', data)).stdout];
  };
  expect(await doctor()).toMatchObject([0, { state: 'ok' }]);
  expect(await shown('acct_test')).toEqual([null, expect.not.stringContaining('set aside')]);

  await runHereForJson('projections', 'park', 'acct_test', '--reason', 'odd balance', '--data', data);
  expect(await doctor()).toMatchObject([
    0,
    {
      state: 'warn',
      says: expect.stringMatching(/^1 .*: acct_test \(parked: odd balance\)$/),
      advice: expect.stringContaining('unpark'),
    },
  ]);
  expect(await shown('acct_test')).toEqual([
    { cause: 'parked', revision: null, why: 'odd balance' },
    expect.stringMatching(/^ *set aside +parked: odd balance/m),
  ]);
  expect((await shown('acct_ada'))[0]).toBe(null);

  const views = new DatabaseSync(join(data, 'views.db'));
  const { name } = new AccountsSetAside().tables[0];
  views.prepare(`INSERT INTO ${name} VALUES (?, ?, ?, ?, 0)`).run('acct_ada', 'unreadable', 3, 'of a newer program');
  views.close();
  expect(await doctor()).toMatchObject([
    5,
    { state: 'fault', says: expect.stringMatching(/^2 .*acct_ada \(unreadable: of a newer program\)/) },
  ]);
  expect((await shown('acct_ada'))[0]).toEqual({ cause: 'unreadable', revision: 3, why: 'of a newer program' });
});

it('what lists something of an account that the views have set aside refuses it with why, also to its members, as far as the ledger names them', async () => {
  const { data, stop } = await startTestGateway();
  await stop();
  const views = new DatabaseSync(join(data, 'views.db'));
  const { name } = new AccountsSetAside().tables[0];
  views.prepare(`INSERT INTO ${name} VALUES (?, ?, ?, ?, 0)`).run('acct_test', 'hidden', -1, 'its stream is cut');
  views.close();
  const said = async (...line: string[]) => {
    const { exitCode, stderr } = await runHere(...line, '--data', data);
    return { exitCode, stderr };
  };
  const aside = { exitCode: 3, stderr: 'gateway: acct_test: the account is set aside: its stream is cut\n' };
  for (const line of [
    ['account', 'usage', 'acct_test'],
    ['payment', 'list', 'acct_test'],
    ['exception', 'list', 'acct_test'],
  ]) {
    expect(await said(...line), line.join(' ')).toEqual(aside);
    if (line[0] === 'exception') continue;
    expect(await said(...line, '--as', 'test@example.com'), line.join(' ')).toEqual(aside);
    expect(await said(...line, '--as', 'zoe@example.com'), line.join(' ')).toEqual({
      ...{ exitCode: 3, stderr: 'gateway: acct_test: there is no such account\n' },
    });
  }
});

it('an id of any length, as a forged event may have, takes no more room than tells what it is', async () => {
  const { data, stop } = await startTestGateway();
  await stop();
  const id = `acct_${'x'.repeat(10_000)}`;
  const unread = cannotFollow(accountId(id), revision(3), keyIssued(), new Error('y'.repeat(10_000)));
  expect(unread.message.length).toBeLessThan(1_000);
  const views = new DatabaseSync(join(data, 'views.db'));
  const { name } = new AccountsSetAside().tables[0];
  views.prepare(`INSERT INTO ${name} VALUES (?, ?, ?, ?, 0)`).run(id, 'unreadable', 3, 'of a newer program');
  views.close();
  for (const command of [['doctor'], ['projections', 'status']]) {
    const { stdout } = await runHere(...command, '--data', data);
    expect(stdout).toMatch(/acct_x+…/);
    expect(stdout).not.toContain('x'.repeat(301));
  }
  const { setAside } = await runHereForJson('projections', 'status', '--data', data);
  expect(setAside).toMatchObject([{ accountId: id }]);
});
