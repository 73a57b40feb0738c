import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LONGEST, rank } from './longest-first.ts';

test('the files that are begun first are there', () => {
  const missing = LONGEST.filter((file) => !existsSync(join(import.meta.dirname, '..', file)));
  expect(missing).toEqual([]);
});

test('the longest files are begun first, whatever else there is', () => {
  const [longest = '', second = ''] = LONGEST;
  const others = ['test/contracts/ids.test.ts', 'test/bytes/byte-equality.test.ts'];
  const sorted = [...others, second, longest].toSorted((a, b) => rank(a, true) - rank(b, true));
  expect(sorted).toEqual([longest, second, ...others]);
});

test('files that share processes follow one another, behind those that run apart', () => {
  const files = [
    { file: 'test/contracts/ids.test.ts', isApart: false },
    { file: 'test/projections/outage.test.ts', isApart: true },
    { file: 'test/contracts/money.test.ts', isApart: false },
    { file: LONGEST[0] ?? '', isApart: false },
  ];
  const sorted = files.toSorted((a, b) => rank(a.file, a.isApart) - rank(b.file, b.isApart));
  expect(sorted).toEqual([files[3], files[1], files[0], files[2]]);
});
