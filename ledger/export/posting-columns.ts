import type { Entry } from '../postings/bookkeeper.ts';
import { factsOf } from './entry-facts.ts';

/** The columns of a posting where each is a row: of the CSV file and of the Parquet file. A debit is positive, a credit negative. */
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
export const PLACES = Object.fromEntries(POSTING_COLUMNS.map((name, place) => [name, place])) as Readonly<
  Record<PostingColumn, number>
>;

/** What the rows of an entry have in common, made once; in the places of account and amounts there is nothing yet. */
export function entryFields(entry: Entry): string[] {
  const { recorded, recordedAt, customer } = entry;
  const { request, key, model, grant } = factsOf(entry);
  const { id, stream, revision, type } = recorded;
  return [recordedAt, id, stream, revision.toString(), type, customer, '', '', '', request, key, model, grant];
}
