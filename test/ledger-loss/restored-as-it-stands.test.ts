import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BASE_FORMS } from '../../contracts/event-forms.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { commandId } from '../../contracts/ids.ts';
import { withLogFile } from '../../ledger/event-log/sqlite/log-file.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { openInAdoptedForms } from '../../proxy/program/open-event-log.ts';
import { copySite, copyTo, open } from '../commands/copy-site.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const eventsIn = (data: string): Promise<RecordedEvent[]> =>
  withLogFile(join(data, 'ledger.db'), (log) => Array.fromAsync(log.readAll()));

async function done(data: string, ...args: readonly string[]): Promise<void> {
  expect(await runHereWith({ openEventLog: openInAdoptedForms }, '--data', data, ...args)).toMatchObject({
    exitCode: 0,
  });
}

const opened = (data: string, name: string) => done(data, 'account', 'open', '--email', `${name}@a.test`, '--id', name);
const granted = (data: string, account: string) =>
  done(data, 'credits', 'grant', account, '--usd', '3', '--source', 'purchase');

/** Has a backup taken, then something done, and restores the backup with the file that was gone on with. */
async function restoredAfter(data: string, after: () => Promise<void>): Promise<void> {
  const [to, backup] = [join(temporaryFolder(), 'data'), join(temporaryFolder(), 'backup')];
  await done(data, 'ledger', 'backup', backup);
  await after();
  await done(to, 'ledger', 'restore', backup, '--from-copy', join(data, 'ledger.db'));
  expect(await eventsIn(to)).toEqual(await eventsIn(data));
}

it('what another copy has more is put back in its order, whichever types of events there are in a newer form', async () => {
  const data = temporaryFolder();
  await opened(data, 'acct_a');
  await opened(data, 'acct_b');
  await restoredAfter(data, async () => {
    await opened(data, 'acct_new');
    await granted(data, 'acct_b');
    await granted(data, 'acct_a');
  });
});

it('what another copy has more is put back in the forms that it has there, also those that were adopted since', async () => {
  const data = join(temporaryFolder(), 'data');
  mkdirSync(data, { mode: 0o700 });
  // As an older program begins it: no forms are adopted.
  const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  const nowMs = Date.now();
  const recording = {
    commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
    actor: 'test',
    recordedAt: new Date(nowMs).toISOString(),
  };
  await identifyLedger(log, nowMs, recording, BASE_FORMS);
  await log.close();
  await opened(data, 'acct_a');
  await restoredAfter(data, async () => {
    await opened(data, 'acct_b');
    await done(data, 'ledger', 'forms', '--adopt');
    await done(data, 'key', 'issue', 'acct_a', '--key-only');
  });
});

it('of what has moved, by another copy, it is said where it went, and not that it is whole or to be served', async () => {
  const of = await copySite();
  const backup = join(temporaryFolder(), 'backup');
  await open(of.inFile, 'ada');
  await done(of.data, 'ledger', 'backup', backup);
  expect(await copyTo(of)).toMatchObject({ exitCode: 0 });
  const moved = join(of.data, 'ledger.db');
  const restoring = (to: string) => ['--data', to, 'ledger', 'restore', backup, '--from-copy', moved];
  const to = join(temporaryFolder(), 'data');
  const { exitCode, stdout } = await runHere(...restoring(to));
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`\n\nthe ledger (${join(to, 'ledger.db')}) has moved to EventStoreDB at 127.0.0.1:`);
  expect(stdout).not.toMatch(/next:|all that is known/);
  expect(await runHereForJson(...restoring(join(temporaryFolder(), 'data')))).toMatchObject({ isServed: false });
});
