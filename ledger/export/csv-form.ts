import type { BooksForm } from './book-entries.ts';
import { csvField, csvLine, lineOf } from './csv-line.ts';
import { usdOfMicro } from './decimal-text.ts';
import { entryFields, PLACES, POSTING_COLUMNS } from './posting-columns.ts';

/** A line for each posting, under a line of names. */
export const csvForm = (): BooksForm => ({
  begin: () => csvLine(POSTING_COLUMNS),
  entry: (entry) => {
    const fields = entryFields(entry).map(csvField);
    let lines = '';
    for (const { account, microUsd } of entry.postings) {
      // Neither the name of an account nor a figure has anything in it that a field must not have.
      fields[PLACES.book_account] = account;
      fields[PLACES.amount_usd] = usdOfMicro(microUsd);
      fields[PLACES.amount_micro_usd] = microUsd.toString();
      lines += lineOf(fields);
    }
    return lines;
  },
  end: () => [],
});
