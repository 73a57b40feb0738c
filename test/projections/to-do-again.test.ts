import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { NO_STREAM, revision } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { Projections } from '../../projections/projections.ts';
import { describeToDoAgain, findToDoAgain } from '../../projections/to-do-again.ts';
import { programInProcess } from '../commands/program-in-process.ts';
import { temporaryFolder } from '../gateway/start-gateway.ts';

it('what views know and the ledger has lost is named, as far as an operator has to do it again', async () => {
  const data = temporaryFolder();
  const program = await programInProcess();
  onTestFinished(() => program.close());
  const run = (...args: string[]) => program.json(...args);
  await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '5');
  const { keyId: kept } = await run('key', 'issue', 'acct_ada', '--name', 'kept');
  await run('limit', 'set', 'acct_ada', '--usd', '100');
  const shared = await program.log.headPosition();
  // All of this is lost.
  await run('limit', 'set', 'acct_ada', '--none');
  await run('limit', 'set', 'acct_ada', '--key', String(kept), '--usd', '3');
  await run('credits', 'grant', 'acct_ada', '--usd', '12.50', '--id', 'paid', '--expires', '2099-01-01');
  const { keyId: laptop } = await run('key', 'issue', 'acct_ada', '--name', 'laptop', '--monthly-limit-usd', '7');
  const { keyId: ended } = await run('key', 'issue', 'acct_ada', '--name', 'ended');
  await run('key', 'revoke', 'acct_ada', String(ended));
  await run('account', 'open', '--email', 'bob@example.com', '--id', 'acct_bob', '--trial-usd', '1');
  await run('account', 'open', '--email', 'eve@example.com', '--id', 'acct_eve', '--trial-usd', '0');

  const views = join(data, 'views.db');
  const projections = await Projections.start({
    log: program.log,
    path: views,
    persist: true,
    onStopped: () => undefined,
  });
  await projections.whenCaughtUp();
  await projections.close();
  const left = await openSqliteEventLog({ path: join(data, 'left.db') });
  onTestFinished(() => left.close());
  for await (const event of program.log.readAll()) {
    if (event.position > Number(shared)) break;
    await left.append(event.stream, event.revision === 0 ? NO_STREAM : revision(event.revision - 1), [event]);
  }

  expect(await findToDoAgain(program.log, views)).toEqual([]);
  expect(await findToDoAgain(left, null)).toBe(null);
  const found = await findToDoAgain(left, views);
  expect(found).toMatchObject([
    {
      accountId: 'acct_ada',
      account: null,
      grants: [{ grantId: 'paid', source: 'purchase', amount: '12500000', remaining: '12500000' }],
      keys: [{ keyId: laptop, name: 'laptop' }],
      limits: [
        { keyId: null, limit: null },
        { keyId: kept, limit: '3000000' },
        { keyId: laptop, limit: '7000000' },
      ],
    },
    {
      accountId: 'acct_bob',
      account: { kind: 'personal', email: 'bob@example.com' },
      grants: [{ grantId: 'grant_trial', amount: '1000000' }],
    },
    { accountId: 'acct_eve', account: { email: 'eve@example.com' }, grants: [], keys: [], limits: [] },
  ]);
  expect(describeToDoAgain(found ?? [])).toEqual([
    'grant paid of acct_ada: purchase, 12.50 USD, 12.50 of it left, until 2099-01-01T00:00:00.000Z',
    expect.stringMatching(new RegExp(`^key ${laptop} of acct_ada \\("laptop", ….{4}\\): issue another one$`)),
    'limit of acct_ada: none',
    `limit of ${kept} of acct_ada: 3.00 USD a month`,
    `limit of ${laptop} of acct_ada: 7.00 USD a month`,
    expect.stringMatching(/^account acct_bob \(personal, bob@example\.com, plan /),
    expect.stringMatching(/^grant grant_trial of acct_bob: trial, 1\.00 USD, 1\.00 of it left, until /),
    expect.stringMatching(/^account acct_eve \(/),
  ]);
});
