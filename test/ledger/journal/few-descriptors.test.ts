import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';

/** What a fixture says in a process that may have 64 descriptors. */
const runWithFew = (fixture: string, directory: string): string =>
  execFileSync(
    'bash',
    [
      ...['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath],
      ...[fileURLToPath(new URL(`fixtures/${fixture}`, import.meta.url)), directory],
    ],
    { encoding: 'utf8', timeout: 120_000 },
  );

describe.runIf(process.platform === 'linux')('a process without a descriptor for another segment', () => {
  test('goes on in the one that it has, up to a bound, lets every request finish, and rotates when there is one', async () => {
    const directory = journalFolder();
    const told = JSON.parse(runWithFew('few-descriptors.ts', directory));
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
    const { recovered, damaged } = await openedJournal({ directory });
    expect(damaged).toEqual([]);
    expect(recovered).toEqual([
      ...Array.from({ length: begun - 1 }, (_, index) => ({
        requestId: idOf(index),
        start: startOf(index),
        finished: finishedOf(index),
      })),
      { requestId: idOf(begun - 1), start: startOf(begun - 1), finished: null },
    ]);
  });

  test('keeps what is to lie aside where it is until there is one', async () => {
    const directory = journalFolder();
    expect(JSON.parse(runWithFew('few-descriptors-aside.ts', directory))).toEqual({
      without: { failed: false, obstacle: null, asideBytes: 0, open: 5 },
      failed: false,
      made: true,
    });
    const { recovered } = await openedJournal({ directory });
    expect(recovered.map(({ requestId }) => requestId)).toEqual([0, 1, 2, 3, 4].map(idOf));
  });
  test('keeps none of a journal that it could not open', () => {
    const lost: number[] = JSON.parse(runWithFew('few-descriptors-opening.ts', journalFolder()));
    expect(lost.length).toBeGreaterThan(3);
    expect(lost).toEqual(lost.map(() => 0));
  });
});
