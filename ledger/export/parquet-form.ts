import { ByteWriter, type ColumnSource, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { Entry } from '../postings/bookkeeper.ts';
import type { BooksForm } from './book-entries.ts';
import { entryFields, PLACES, POSTING_COLUMNS, type PostingColumn } from './posting-columns.ts';

/** Rows that are in memory until they are a group of the file. Of each group the file's last bytes tell. */
const GROUP_ROWS = 1 << 14;

/** A row for each posting; in a file by itself, for its last bytes say where everything is. */
export function parquetForm(): BooksForm {
  const bytes = new ByteWriter();
  const take = (): Uint8Array => {
    const taken = bytes.getBytes().slice();
    bytes.index = 0;
    return taken;
  };
  let columns = empty();
  let rows = 0;
  const columnData = (): ColumnSource[] =>
    POSTING_COLUMNS.map((name, place) => ({ name, data: columns[place] ?? [], ...TYPES[name] }));
  const schema = schemaFromColumnData({ columnData: columnData(), schemaOverrides: { amount_usd: USD } });
  const file = new ParquetWriter({ writer: bytes, schema });
  const writeGroup = (): Uint8Array => {
    // Done at once, for nothing waits for a disk here.
    void file.write({ columnData: columnData(), rowGroupSize: GROUP_ROWS });
    columns = empty();
    rows = 0;
    return take();
  };
  return {
    begin: take,
    entry: (entry) => {
      const fields = typedFields(entry);
      for (const { account, microUsd } of entry.postings) {
        fields[PLACES.book_account] = account;
        fields[PLACES.amount_usd] = fields[PLACES.amount_micro_usd] = microUsd;
        for (let place = 0; place < fields.length; place++) columns[place]?.push(fields[place]);
        rows++;
      }
      return rows < GROUP_ROWS ? '' : writeGroup();
    },
    *end() {
      if (rows > 0) yield writeGroup();
      void file.finish();
      yield take();
    },
  };
}

const empty = (): unknown[][] => POSTING_COLUMNS.map(() => []);

function typedFields(entry: Entry): unknown[] {
  const fields: unknown[] = entryFields(entry);
  fields[PLACES.recorded_at] = BigInt(Date.parse(entry.recordedAt));
  fields[PLACES.revision] = BigInt(entry.recorded.revision);
  return fields;
}

/**
 * Least and greatest values only of the times, by which files are read in part; no indexes of pages, which would be kept
 * until the file ends.
 */
const BARE = { statistics: false, offsetIndex: false } as const;
const COMMON = { ...BARE, nullable: false } as const;
/** What many rows have in common stands in a dictionary. */
const SHARED = { ...COMMON, type: 'STRING', encoding: 'RLE_DICTIONARY' } as const;
const OWN = { ...COMMON, type: 'STRING', encoding: 'PLAIN' } as const;
const WHOLE = { ...COMMON, type: 'INT64', encoding: 'PLAIN' } as const;
const TYPES: { readonly [C in PostingColumn]: Omit<ColumnSource, 'name' | 'data'> } = {
  recorded_at: { ...COMMON, type: 'TIMESTAMP', encoding: 'PLAIN', statistics: true },
  event_id: OWN,
  stream: SHARED,
  revision: WHOLE,
  event_type: SHARED,
  customer: SHARED,
  book_account: SHARED,
  amount_usd: { ...BARE, encoding: 'PLAIN' },
  amount_micro_usd: WHOLE,
  request_id: OWN,
  key_id: SHARED,
  model: SHARED,
  grant_id: SHARED,
};
/** The micro-USD themselves, read as USD: exact, and summed exactly. */
const USD = {
  name: 'amount_usd',
  type: 'INT64',
  repetition_type: 'REQUIRED',
  converted_type: 'DECIMAL',
  precision: 18,
  scale: 6,
} as const;
