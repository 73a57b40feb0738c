import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A sealed ledger with two accounts in an event store. */
async function site() {
  const store = endedLater(await startFakeEventStore());
  const { connectionString } = store;
  const data = temporaryFolder();
  const configuration = join(data, 'gateway.json');
  const kafka = { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 };
  const eventLog = { kind: 'eventstoredb', connectionString };
  writeFileSync(configuration, JSON.stringify({ data, logLevel: 'silent', eventLog, kafka }));
  const run = (...args: readonly string[]) => runHere('--config', configuration, ...args);
  for (const name of ['ada', 'bob'])
    await run('account', 'open', '--email', `${name}@example.com`, '--id', `acct_${name}`);
  const log = await openEventStoreDbEventLog({ connectionString, waitForServer: true });
  await sealLog(log, data, 2);
  await log.close();
  return { store, run };
}

it('who may only read runs every command that only reads, and none that writes', async () => {
  const { store, run } = await site();
  store.faults.mayAppend = false;
  const month = new Date().toISOString().slice(0, 7);
  const out = join(temporaryFolder(), 'exported');
  for (const command of [
    'account list',
    'account show acct_ada',
    'ledger events acct_ada',
    `ledger export --format ndjson --out ${out}`,
    'ledger keys',
    'ledger prove --since 0',
    'ledger replay acct_ada',
    `ledger report --month ${month}`,
    'ledger seal-digest',
    'ledger verify --all',
    'ledger verify --seals',
    'ledger verify acct_ada',
  ])
    expect({ command, ...(await run(...command.split(' '))) }).toMatchObject({ command, exitCode: 0, stderr: '' });
  expect(await run('credits', 'grant', 'acct_ada', '--usd', '1')).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('may not append'),
  });
});

describe('a stream of which the server hides events', () => {
  const HIDDEN: readonly (readonly [string, (store: FakeEventStore) => void, string])[] = [
    [
      'deleted',
      ({ log }) => log.deleteSoftly('account-acct_ada', 'any'),
      'account-acct_ada -: account-acct_ada was deleted in',
    ],
    [
      'deleted for ever',
      ({ log }) => log.tombstone('account-acct_ada', 'any'),
      'account-acct_ada -: account-acct_ada was deleted for',
    ],
    [
      'cut',
      (store) => store.setMetadata('account-acct_ada', { $maxCount: 1 }),
      'account-acct_ada -: account-acct_ada has $maxCount',
    ],
    ['of seals', ({ log }) => log.tombstone('seals', 'any'), 'seals -: seals was deleted for ever'],
  ];

  it('is told beside what is made of all events: after the next scavenge they are not there', async () => {
    const { store, run } = await site();
    store.log.tombstone('account-acct_ada', 'any');
    store.log.scavenge('account-acct_ada');
    const month = new Date().toISOString().slice(0, 7);
    const usage = join(temporaryFolder(), 'usage.csv');
    writeFileSync(usage, 'request_id,model,input_tokens,output_tokens\nx,m,1,1\n');
    for (const command of [
      `ledger report --month ${month}`,
      'ledger export --format csv',
      `ledger reconcile ${usage} --provider p`,
    ])
      expect({ command, ...(await run(...command.split(' '))) }).toMatchObject({
        ...{ command, stderr: expect.stringMatching(/^warning: account-acct_ada was deleted for ever/) },
      });
  });

  it.each(HIDDEN)('is a fault of the ledger and of its seals, once: %s', async (_, hide, fault) => {
    const { store, run } = await site();
    hide(store);
    store.setMetadata('orders-1', { $maxCount: 1 });
    const all = await run('ledger', 'verify', '--all');
    expect(all).toMatchObject({ exitCode: 5, stdout: expect.stringContaining(fault) });
    expect(all.stdout).toMatch(/ events, .* of 2 accounts: 1 fault\n$/);
    const said = fault.slice(fault.indexOf(':') + 2);
    const seals = await run('ledger', 'verify', '--seals');
    expect(seals).toMatchObject({ exitCode: 5, stdout: expect.stringContaining('verdict   damaged') });
    expect(seals.stdout.split(said)).toHaveLength(2);
    expect(seals.stdout).not.toContain('orders-1');
  });
});
