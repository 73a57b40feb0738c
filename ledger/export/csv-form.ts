import type { BooksForm } from './book-entries.ts';
import { csvLine } from './csv-line.ts';
import { POSTING_COLUMNS, postingRows } from './posting-rows.ts';

/** A line for each posting, under a line of names. */
export const csvForm = (): BooksForm => ({
  begin: () => csvLine(POSTING_COLUMNS),
  entry: (entry) => {
    let lines = '';
    for (const row of postingRows(entry)) lines += csvLine(POSTING_COLUMNS.map((name) => row[name].toString()));
    return lines;
  },
  end: () => [],
});
