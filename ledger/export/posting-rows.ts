import type { Entry } from '../postings/bookkeeper.ts';
import { usdOfMicro } from './decimal-text.ts';
import { factsOf } from './entry-facts.ts';

/** The columns of a posting where each is a row: of the CSV file and of the Parquet file. */
export const POSTING_COLUMNS = [
  'recorded_at',
  'event_id',
  'stream',
  'revision',
  'event_type',
  'customer',
  'book_account',
  'amount_usd',
  'amount_micro_usd',
  'request_id',
  'key_id',
  'model',
  'grant_id',
] as const;
export type PostingColumn = (typeof POSTING_COLUMNS)[number];

/** The rows of an entry; the sum of their amounts is nothing. A debit is positive, a credit negative. */
export function* postingRows(entry: Entry): Generator<{ readonly [C in PostingColumn]: string | bigint | number }> {
  const { recorded, recordedAt, customer, postings } = entry;
  const { request, key, model, grant } = factsOf(entry);
  for (const { account, microUsd } of postings)
    yield {
      recorded_at: recordedAt,
      event_id: recorded.id,
      stream: recorded.stream,
      revision: recorded.revision,
      event_type: recorded.type,
      customer,
      book_account: account,
      amount_usd: usdOfMicro(microUsd),
      amount_micro_usd: microUsd,
      request_id: request,
      key_id: key,
      model,
      grant_id: grant,
    };
}
