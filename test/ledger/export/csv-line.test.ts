import { expect, it } from 'vitest';
import { csvLine } from '../../../ledger/export/csv-line.ts';

it.each([
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['a;b', '"a;b"'],
  ['a;=1+1; @b', `"a;'=1+1;' @b"`],
  ['say "x"', '"say ""x"""'],
  ['two\r\nlines', 'two\\u000d\\u000alines'],
  [' edge', '" edge"'],
  ['edge ', '"edge "'],
  ['A (b) c/d:e_f-g.h', 'A (b) c/d:e_f-g.h'],
  ['caf\u00e9\u200b', 'caf\u00e9\\u200b'],
  ['-1.500000', '-1.500000'],
  ['1234567', '1234567'],
])('a field %j stands as %j', (text, expected) => {
  expect(csvLine([text, 'x'])).toBe(`${expected},x\r\n`);
});

it.each(['=1+1', '+1', '-1+cmd|x', '@SUM(A1)', ' =1', '\uff1d1', '\uff0bA1', '-1.5e3'])(
  'what a spreadsheet would take for a formula is text: %j',
  (text) => {
    expect(csvLine([text])).toMatch(/^"?'/);
  },
);

it('a tab or a carriage return before a formula hides nothing', () => {
  for (const text of ['\t=1', '\r=1']) expect(csvLine([text])).not.toMatch(/^"?[\t\r=]/);
});
