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
  expect([...others, second, longest].toSorted((a, b) => rank(a) - rank(b))).toEqual([longest, second, ...others]);
});
