import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';

describe.runIf(process.platform === 'linux')('a process without a descriptor for another segment', () => {
  test('goes on in the one that it has, up to a bound, lets every request finish, and rotates when there is one', async () => {
    const directory = journalFolder();
    const fixture = fileURLToPath(new URL('fixtures/few-descriptors.ts', import.meta.url));
    const script = 'ulimit -n 64 && exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', script, process.execPath, fixture, directory], { encoding: 'utf8' });
    const told = JSON.parse(output);
    const { begun } = told;
    expect(told).toEqual({
      refusedWithin: null,
      stretched: { obstacle: null, shortage: 'descriptors', grew: true },
      refused: 'descriptors',
      atBound: { obstacle: 'descriptors', begun: begun - 1 },
      stillRefused: 'descriptors',
      after: { obstacle: null, shortage: null },
      begun,
    });
    expect(begun).toBeGreaterThan(41);
    const { journal, recovered, damaged } = await openJournal({ directory });
    expect(damaged).toEqual([]);
    expect(recovered).toEqual([
      ...Array.from({ length: begun - 1 }, (_, index) => ({
        requestId: idOf(index),
        start: startOf(index),
        finished: finishedOf(index),
      })),
      { requestId: idOf(begun - 1), start: startOf(begun - 1), finished: null },
    ]);
    await journal.close();
  });

  test('keeps what is to lie aside where it is until there is one', async () => {
    const directory = journalFolder();
    const fixture = fileURLToPath(new URL('fixtures/few-descriptors-aside.ts', import.meta.url));
    const script = 'ulimit -n 64 && exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', script, process.execPath, fixture, directory], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    expect(JSON.parse(output)).toEqual({
      without: { failed: false, obstacle: null, asideBytes: 0, open: 5 },
      failed: false,
      made: true,
    });
    const { journal, recovered } = await openJournal({ directory });
    expect(recovered.map(({ requestId }) => requestId)).toEqual([0, 1, 2, 3, 4].map(idOf));
    await journal.close();
  });
});
