import { expect, test } from 'vitest';
import { SOURCES } from './source-files.ts';

const LINES_MAX = 400;
/** Goes with each export as one file that needs nothing else. */
const WHOLE = 'ledger/seals/verify-export.mjs';

const linesOf = (text: string): number => text.split('\n').length - 1;

/** Who opens a file for one of its subjects reads it whole. */
const tooLong = (sources: ReadonlyMap<string, string>): string[] =>
  [...sources].flatMap(([file, text]) => (linesOf(text) > LINES_MAX ? [`${file}: ${linesOf(text)} lines`] : []));

test('no file of source or test has more than 400 lines, but what has to be one file', () => {
  expect(SOURCES.size).toBeGreaterThan(1_000);
  expect(tooLong(new Map([...SOURCES].filter(([file]) => file !== WHOLE)))).toEqual([]);
});

test.each([
  [400, []],
  [401, ['ledger/a.ts: 401 lines']],
])('of %i lines', (lines, found) => {
  expect(tooLong(new Map([['ledger/a.ts', 'a;\n'.repeat(lines)]]))).toEqual(found);
});
