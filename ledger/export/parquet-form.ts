import { ByteWriter, type ColumnSource, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { BooksForm } from './book-entries.ts';
import { POSTING_COLUMNS, type PostingColumn, postingRows } from './posting-rows.ts';

/** Rows that are in memory until they are a group of the file. */
const GROUP_ROWS = 50_000;

type Columns = { readonly [C in PostingColumn]: unknown[] };

/** A row for each posting; in a file by itself, for its last bytes say where everything is. */
export function parquetForm(): BooksForm {
  const bytes = new ByteWriter();
  const take = (): Uint8Array => {
    const taken = bytes.getBytes().slice();
    bytes.index = 0;
    return taken;
  };
  let columns = empty();
  const columnData = (): ColumnSource[] =>
    POSTING_COLUMNS.map((name) => ({ name, data: columns[name], ...TYPES[name] }));
  const schema = schemaFromColumnData({ columnData: columnData(), schemaOverrides: { amount_usd: USD } });
  const file = new ParquetWriter({ writer: bytes, schema });
  const writeGroup = (): Uint8Array => {
    // Done at once, for nothing waits for a disk here. Without the indexes of pages, which are kept until the file ends.
    void file.write({
      columnData: columnData().map((column) => ({ ...column, offsetIndex: false })),
      rowGroupSize: GROUP_ROWS,
    });
    columns = empty();
    return take();
  };
  return {
    begin: take,
    entry: (entry) => {
      for (const row of postingRows(entry))
        for (const name of POSTING_COLUMNS) columns[name].push(cellOf(name, row[name], row.amount_micro_usd));
      return columns.event_id.length < GROUP_ROWS ? '' : writeGroup();
    },
    *end() {
      if (columns.event_id.length > 0) yield writeGroup();
      void file.finish();
      yield take();
    },
  };
}

const STRING = { type: 'STRING', nullable: false } as const;
const TYPES: { readonly [C in PostingColumn]: Pick<ColumnSource, 'type' | 'nullable'> } = {
  recorded_at: { type: 'TIMESTAMP', nullable: false },
  event_id: STRING,
  stream: STRING,
  revision: { type: 'INT64', nullable: false },
  event_type: STRING,
  customer: STRING,
  book_account: STRING,
  amount_usd: {},
  amount_micro_usd: { type: 'INT64', nullable: false },
  request_id: STRING,
  key_id: STRING,
  model: STRING,
  grant_id: STRING,
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

const empty = (): Columns => Object.fromEntries(POSTING_COLUMNS.map((name) => [name, []])) as unknown as Columns;

function cellOf(name: PostingColumn, value: unknown, microUsd: unknown): unknown {
  if (name === 'recorded_at') return new Date(String(value));
  if (name === 'amount_usd') return microUsd;
  return name === 'revision' ? BigInt(Number(value)) : value;
}
