import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { ledgerId } from '../../contracts/ids.ts';
import { ACCOUNT_STATE_VERSION } from '../../ledger/account/account-state.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { readFoldedThrough, writeLedgerOfViews } from '../../projections/known-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { runHere, runHereForJson, runHereWith } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let whole = '';

/** Views of a ledger with two accounts, and those of before, which know one. */
beforeAll(async () => {
  whole = temporaryFolder();
  for (const id of ['acct_ada', 'acct_bob']) {
    await runHereForJson('account', 'open', '--email', 'ada@example.com', '--id', id, '--data', whole);
    await runHereForJson('projections', 'rebuild', '--all', '--data', whole);
  }
});

function folder() {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  const files = viewFilesOf(data);
  const at = (path: string) => readFoldedThrough(path)?.position;
  return { data, files, at, before: at(files.previous), now: at(files.live) };
}

const back = (data: string) => runHereForJson('projections', 'rollback', '--data', data);
/** The log does not answer. */
const backAlone = (data: string, ...more: string[]) =>
  runHereWith(
    { openEventLog: () => Promise.reject(new EventLogError('unavailable', 'no answer for 10 s')) },
    ...['projections', 'rollback', '--data', data, ...more],
  );

describe('gateway projections rollback', () => {
  it('says from which views it goes to which, and what those have read', async () => {
    const { data, files, at, before, now } = folder();
    const versions = expect.objectContaining({ balance: ACCOUNT_STATE_VERSION });
    expect(Number(now)).toBeGreaterThan(Number(before));
    expect(await back(data)).toMatchObject({
      from: { position: now, currentAt: expect.stringMatching(/Z$/), versions },
      to: { position: before, versions },
      events: Number(now) - Number(before),
    });
    expect(at(files.live)).toBe(now);
    const { stdout } = await runHere('projections', 'rollback', '--data', data);
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^from views up to position ${now}, which had all at .*Z \\(balance \\d+, `)),
      expect.stringMatching(new RegExp(`^to views up to position ${now}, .*; 0 events read$`)),
      'switched in the folder; the views that were live are kept in their place',
    ]);
  });

  it('does without the log where no gateway runs: what has come since is read by the next start', async () => {
    const { data, files, at, before, now } = folder();
    const { exitCode, stdout, stderr } = await backAlone(data, '--json');
    expect([exitCode, stderr]).toEqual([
      0,
      'warning: no answer for 10 s: whether the ledger is whole was not looked at\n',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ from: { position: now }, to: { position: before }, events: null, switched: 'in the folder' },
    });
    expect([at(files.live), at(files.previous)]).toEqual([before, now]);
    expect((await backAlone(data)).stdout).toContain('what has come since is read by the next start');
    await backAlone(data);
    expect(await back(data)).toMatchObject({ from: { position: before }, to: { position: now } });
    expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
  });

  it('refuses it there beside a gateway, which goes over only to views that have read all', async () => {
    const { data, files, at, before, now } = folder();
    mkdirSync(journalFolder(data), { recursive: true });
    const running = lockFolder(journalFolder(data));
    expect(await backAlone(data)).toMatchObject({
      ...{
        exitCode: 4,
        stdout: '',
        stderr: expect.stringMatching(/does not answer, and the gateway .* run this again/),
      },
    });
    running.release();
    expect([at(files.live), at(files.previous)]).toEqual([now, before]);
  });

  it('and goes back there to views of the same ledger alone, or of any where the live ones cannot be read', async () => {
    const { data, files, at, before, now } = folder();
    const other = { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000b'), generation: 1 };
    cpSync(files.previous, `${files.previous}.own`);
    writeLedgerOfViews(files.previous, other);
    expect(await backAlone(data)).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('rebuild instead') });
    expect([at(files.live), at(files.previous)]).toEqual([now, before]);
    cpSync(`${files.previous}.own`, files.previous);
    writeFileSync(files.live, Buffer.alloc(8_192, 'no database'));
    expect(await backAlone(data)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^from views that cannot be read\nto views up to position .*nobody goes back to it\n$/s,
      ),
    });
    expect(at(files.live)).toBe(before);
  });
});
