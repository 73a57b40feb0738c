import type { RecordedEvent } from '../../contracts/event-log.ts';
import { Bookkeeper, type Entry } from '../postings/bookkeeper.ts';
import { isCarriedOver } from '../postings/chart-of-accounts.ts';

/** Events in log order, by pages: to wait for each of millions of events takes longer than to read them. */
export type EventPages = AsyncIterable<readonly RecordedEvent[]>;

/** Which events are in the books that are written: by the time at which they were written down. */
export interface Period {
  /** Inclusive, RFC 3339 with milliseconds in UTC; null is the beginning. */
  readonly from: string | null;
  /** Exclusive; null is all that there is. */
  readonly to: string | null;
}

export interface Balances {
  /** What each account had before the period, and at its end: those that are carried over, in micro-USD. */
  readonly opening: ReadonlyMap<string, bigint>;
  readonly closing: ReadonlyMap<string, bigint>;
  /** The last day on which anything was booked: YYYY-MM-DD; null where nothing was. */
  readonly lastDay: string | null;
}

type Chunk = string | Uint8Array;

/** Handed on together: an entry alone is too little to be written by itself. */
const CHUNK_CHARS = 1 << 12;

/** A form of the books, written piece by piece, so that what is in memory does not grow with the events. */
export interface BooksForm {
  readonly begin: () => Chunk;
  /** Of an event that books nothing, as far as the form wants to know of it. */
  readonly see?: (recorded: RecordedEvent) => void;
  readonly entry: (entry: Entry) => Chunk;
  /** Whether it wants entries without postings, too: what had a price, and has moved nothing yet. */
  readonly takesUnbooked?: boolean;
  readonly end: (balances: Balances) => Iterable<Chunk>;
}

/**
 * Books all events in log order, also those before the period: what a grant has left says what a debit takes of it.
 * @throws UnreadableEventError, UnbookableError; whatever reading the log throws
 */
export async function* bookEntries(
  pages: EventPages,
  { from, to }: Period,
  form: BooksForm,
): AsyncGenerator<Chunk, { readonly entries: number }, undefined> {
  const bookkeeper = new Bookkeeper();
  const opening = new Map<string, bigint>();
  const within = new Map<string, bigint>();
  let lastDay: string | null = null;
  let entries = 0;
  yield form.begin();
  let text = '';
  for await (const page of pages)
    for (const recorded of page) {
      const entry = bookkeeper.book(recorded);
      if (entry === null) {
        form.see?.(recorded);
        continue;
      }
      if (entry.postings.length === 0 && form.takesUnbooked !== true) continue;
      if (to !== null && entry.recordedAt >= to) continue;
      const isBefore = from !== null && entry.recordedAt < from;
      add(isBefore ? opening : within, entry);
      if (isBefore) continue;
      const day = entry.recordedAt.slice(0, 10);
      if (lastDay === null || day > lastDay) lastDay = day;
      entries++;
      const chunk = form.entry(entry);
      if (typeof chunk !== 'string') yield chunk;
      else text += chunk;
      if (text.length < CHUNK_CHARS) continue;
      yield text;
      text = '';
    }
  yield text;
  yield* form.end({ opening, closing: sum(opening, within), lastDay });
  return { entries };
}

function add(balances: Map<string, bigint>, { postings }: Entry): void {
  for (const { account, microUsd } of postings)
    if (isCarriedOver(account)) balances.set(account, (balances.get(account) ?? 0n) + microUsd);
}

function sum(one: ReadonlyMap<string, bigint>, other: ReadonlyMap<string, bigint>): Map<string, bigint> {
  const both = new Map(one);
  for (const [account, amount] of other) both.set(account, (both.get(account) ?? 0n) + amount);
  return both;
}
