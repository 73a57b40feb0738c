import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountStream, NO_STREAM } from '../../contracts/ids.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { SQLITE_LIMITS } from '../../ledger/event-log/sqlite/limits.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { OPERATOR } from '../fixtures/ledger/actors.ts';
import { ACCOUNT, keyIssued, ms, opened, usd } from '../fixtures/ledger/example-account.ts';
import { viewsFile } from './example-ledger.ts';
import { startedViews } from './started-views.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
/** What is admitted is bound so long after a limit was set, at the most. */
const BINDS_MS = 1_000;

/** Nothing is done by the clock but what the test lets. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Views of one process on a log that another one writes, too; `set` sets the account's limit there, `limit` is what the views have. */
async function scene(open: () => Promise<EventLog>) {
  const [own, others] = [endedLater(await open()), endedLater(await open())];
  await others.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents([opened, keyIssued()], recordingBy('test', NOW)));
  const { projections } = await startedViews({ log: own, path: viewsFile() });
  await projections.whenCaughtUp();
  const set = async (limit: number): Promise<void> => {
    const command = { type: 'SetSpendLimit', keyId: null, limit: usd(limit), nowMs: NOW } as const;
    const done = await executeCommand(others, ACCOUNT, command, OPERATOR, recordingBy('test', NOW));
    if (done.type === 'refused' || done.position === null) throw new Error('it is not set');
    folded = projections.whenAt(done.position);
  };
  let folded: Promise<unknown> = Promise.resolve();
  const limit = async (): Promise<bigint | null> => {
    await folded;
    const { state } = projections.accounts.read(ACCOUNT);
    return state.type === 'open' ? state.spend.accountLimit : null;
  };
  return { set, limit };
}

it('a limit that another process has set is in the views with the first look for what others have written, of which there are several in a second', async () => {
  const path = `${viewsFile()}.ledger`;
  const { set, limit } = await scene(() => openSqliteEventLog({ path }));
  for (const amount of [5, 7]) {
    await set(amount);
    vi.advanceTimersByTime(SQLITE_LIMITS.pollIntervalMs);
    expect(await limit()).toBe(usd(amount));
  }
  expect(SQLITE_LIMITS.pollIntervalMs * 4).toBeLessThanOrEqual(BINDS_MS);
});

it('of the event store it is handed over as it is written, and nothing is asked for it', async () => {
  const store = endedLater(await startFakeEventStore());
  const { connectionString } = store;
  const { set, limit } = await scene(() => openEventStoreDbEventLog({ connectionString }));
  const asked = (): number => ['Read', 'Subscribe'].reduce((sum, rpc) => sum + store.calls.list(rpc).length, 0);
  await set(5);
  await limit();
  const before = asked();
  await set(7);
  expect(await limit()).toBe(usd(7));
  // What sets it reads the account.
  expect(asked()).toBe(before + 1);
});
