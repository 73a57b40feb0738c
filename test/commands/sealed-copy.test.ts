import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { fillLedger } from '../bench/fill-ledger.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { rowsOf } from '../fixtures/ledger/sealed-rows.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { copySite, copyTo, open } from './copy-site.ts';

/** A ledger of billed requests in the file, under seals; and what a copy says of them. */
async function sealedSite() {
  const of = await copySite();
  const file = join(of.data, 'ledger.db');
  mkdirSync(of.data);
  await fillLedger(file, { accounts: 3, events: 250 });
  const log = await openSqliteEventLog({ path: file });
  await sealLog(log, of.data, 100);
  await log.close();
  const seals = rowsOf(file).filter(({ type }) => type === 'LedgerSealed').length;
  expect(seals).toBeGreaterThan(1);
  return { ...of, file, hold: expect.stringContaining(`those of ${seals} seals among them; the seals hold`) };
}

/** Who can write to the file calls a key another name. */
function alter(file: string): void {
  const renamed = `UPDATE event SET data = replace(data, '"filled"', '"forged"') WHERE type = 'ApiKeyIssued'`;
  expect(editFile(file, (database) => database.prepare(renamed).run().changes)).toBeGreaterThan(0);
}

describe('gateway ledger copy of a ledger under seals', () => {
  it('says over how many seals, there and back', async () => {
    const of = await sealedSite();
    expect(await copyTo(of)).toMatchObject({ exitCode: 0, stdout: of.hold });
    renameSync(of.file, `${of.file}.moved`);
    const back = await runHere('--config', of.inStore, 'ledger', 'copy', '--to', of.file);
    expect(back).toMatchObject({ exitCode: 0, stdout: of.hold });
  });

  it('of a ledger that is not as it was sealed is refused, and the ledger is where it was', async () => {
    const of = await sealedSite();
    alter(of.file);
    const says =
      /^gateway: the target is the same as the source in [\d,]+ events, and not as it was sealed \(its events are not those that were sealed\): gateway ledger verify --seals says more\. Such a ledger is not moved\n$/;
    for (const flags of [['--copy-only'], []])
      expect(await copyTo(of, ...flags)).toMatchObject({
        ...{ exitCode: 3, stdout: '', stderr: expect.stringMatching(says) },
      });
    expect([(await open(of.inFile, 'ada')).exitCode, (await open(of.inStore, 'ada')).exitCode]).toEqual([0, 3]);
  });

  it('that was altered before it was whole is told at the first event, and the ledger is where it was', async () => {
    const of = await sealedSite();
    await copyTo(of);
    renameSync(of.file, `${of.file}.moved`);
    const back = (...flags: readonly string[]) =>
      runHere('--config', of.inStore, 'ledger', 'copy', '--to', of.file, ...flags);
    expect(await back('--copy-only')).toMatchObject({ exitCode: 0, stdout: of.hold });
    alter(`${of.file}.partial`);
    expect(await back()).toMatchObject({
      ...{ exitCode: 3, stdout: '' },
      stderr: expect.stringMatching(
        /^gateway: the target is no copy of the source: behind \d+ events in which they agree, where the source has account-acct_filled0 revision \d+, the target has account-acct_filled0 revision \d+, with another data\n$/,
      ),
    });
    expect(existsSync(of.file)).toBe(false);
    expect((await open(of.inStore, 'ada')).exitCode).toBe(0);
  });
});
