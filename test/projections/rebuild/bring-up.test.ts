import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountId, accountStream, ledgerId, position } from '../../../contracts/ids.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { freeBytesAt } from '../../../ledger/room-on-disk.ts';
import { readFoldedThrough, readLedgerOfViews, writeLedgerOfViews } from '../../../projections/known-views.ts';
import { bringUp, holdsViews } from '../../../projections/rebuild/bring-up.ts';
import { EventSums } from '../../../projections/rebuild/event-sums.ts';
import { areVerified, markVerified } from '../../../projections/verified-mark.ts';
import { ViewsNotWrittenError } from '../../../projections/view-store.ts';
import { BALANCE_TABLE } from '../../fixtures/ledger/balance-table.ts';
import { opened } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { canMount, smallDisk } from '../../fixtures/ledger/small-disk.ts';
import { inTurnsThroughout, passing } from '../../fixtures/ledger/turns.ts';
import { execute, rowsOf, viewsFile, writeLives } from '../example-ledger.ts';
import { ALL, head, LIVES, logOf, written } from '../started-projections.ts';

inTurnsThroughout();

const of = (id: string, generation: number): LedgerIdentity => ({
  ...{ ledgerId: ledgerId(`ledger_019a5b3c0000700080000000000000${id}`), generation },
});
const OWN = of('0a', 2);

test.each([
  ['of this ledger, which is gone on with', OWN, true],
  ['of another ledger, of which nothing stays', of('0b', 2), false],
  ['of an earlier generation, of which nothing stays', of('0a', 1), false],
  ['that does not say whose it is, of which nothing stays', null, false],
])('a file %s', async (_what, its, isKept) => {
  const log = logOf();
  const path = viewsFile();
  const whole = await written(log, path);
  const right = viewsFile();
  cpSync(whole, right);
  execute(path, `UPDATE ${BALANCE_TABLE} SET balance_micro_usd = '7'`);
  if (its !== null) writeLedgerOfViews(path, its);
  expect(holdsViews(path, OWN)).toBe(isKept);
  const { events, sums } = await passing(upTo({ log, path }));
  expect(events).toBe(isKept ? 0 : log.events.length);
  expect(sums?.through ?? null).toBe(isKept ? null : head(log));
  expect(readLedgerOfViews(path)).toEqual(OWN);
  const rows = (file: string): string[] => rowsOf(file).filter((row) => !row.startsWith('of_ledger '));
  if (!isKept) expect(rows(path)).toEqual(rows(right));
});

test('what was counted of a file that is gone on with, or without what the log had at first, is not told', async () => {
  const log = logOf(0, 6);
  const path = await written(log);
  writeLives(log, LIVES, 6, ALL);
  expect(await passing(upTo({ log, path, identity: null }))).toMatchObject({ sums: null });
  expect(await passing(upTo({ log, path: viewsFile() }))).toMatchObject({ sums: { isWhole: true } });
  log.headPosition = async () => position(head(log) + 1);
  expect(await passing(upTo({ log, path: viewsFile() }))).toMatchObject({ sums: null });
});

test('what was counted of events as they were read for the views is what they come to by themselves', async () => {
  const log = logOf();
  const { sums } = await passing(upTo({ log, path: viewsFile() }));
  const byThemselves = new EventSums();
  for (const event of log.events) byThemselves.add(event);
  expect([sums?.accounts, sums?.catalog, sums?.through]).toEqual([
    byThemselves.accounts,
    byThemselves.catalog,
    byThemselves.through,
  ]);
  expect([...byThemselves.accounts.values()].filter(({ billedPicoUsd }) => billedPicoUsd > 0n)).not.toEqual([]);
});

test('of an account whose event cannot be read what was counted says so', async () => {
  const log = logOf();
  const billed = log.events.find(({ type }) => type === 'CreditsDebited') ?? expect.fail('nothing is billed');
  Object.assign(billed, { data: '{"cut' });
  const { sums } = await passing(upTo({ log, path: viewsFile() }));
  expect([sums?.isWhole, sums?.unreadable]).toEqual([false, [expect.stringMatching(/its data is not JSON/)]]);
  expect(new Map([...(sums?.accounts ?? [])].map(([id, { last }]) => [id, last]))).toEqual(
    new Map([...LIVES].map(([id, { length }]) => [id, length - 1])),
  );
});

test('what is folded on is no longer verified', async () => {
  const log = logOf();
  const path = await written(log);
  markVerified(path, true);
  expect(areVerified(path)).toBe(true);
  await passing(upTo({ log, path, identity: null }));
  expect(areVerified(path)).toBe(false);
});

test.runIf(canMount)('what the disk has no room for is not waited for', async () => {
  const log = new MemoryEventLog();
  for (let number = 0; number < 2_000; number++)
    log.write(accountStream(accountId(`a${number}`)), encodeEvents([opened], recordingBy('test', 0)));
  const disk = smallDisk(1_024);
  const path = join(dirname(disk.folder), 'views.db');
  await expect(passing(upTo({ log, path }))).rejects.toThrow(ViewsNotWrittenError);
});

test.runIf(canMount)('nor is what it has room for only in what is kept free', async () => {
  const disk = smallDisk(32 * 1_024);
  const path = join(dirname(disk.folder), 'views.db');
  const free = freeBytesAt(dirname(path));
  await expect(passing(upTo({ log: logOf(), path, keepFreeBytes: free }))).rejects.toThrow(
    /^the views were not written: 31 MiB are free, of which 32 MiB are kept for requests$/,
  );
  expect(readFoldedThrough(path)).toBeNull();
  const { events } = await passing(upTo({ log: logOf(), path, keepFreeBytes: free - 8 * MIB }));
  expect(events).toBe(logOf().events.length);
});

const MIB = 1_024 ** 2;

const upTo = (of: Pick<Parameters<typeof bringUp>[0], 'log' | 'path'> & { identity?: null; keepFreeBytes?: number }) =>
  bringUp({ identity: OWN, clock: Date.now, keepFreeBytes: 0, onFolded: () => undefined, ...of });
