import type { LeafPage, LeavesFrom } from '../../../contracts/event-log.ts';

/** What crosses between the log's threads. Flat arrays: each text is copied once, each object around it twice. */
export interface ThreadData {
  readonly path: string;
  readonly busyMs: number;
  readonly isServedFrom: boolean;
}

/** The first message to a thread, which is then already there. */
export const OPEN = 'open';
/** And its answer: whether it has the file. */
export type ThreadOpened =
  /** `file`: which one it is (OpenedFile), so that two threads can be known to have the same. */
  | { readonly type: 'opened'; readonly file: string | null }
  | { readonly type: 'refused'; readonly kind: 'invalid' | 'unavailable'; readonly message: string };

/** The last message to a thread. */
export const CLOSE = 'close';

/**
 * One transaction's appends, one after the other: expected revision, number of events, stream, and then id, type, data
 * and metadata of each event. One AppendedGroup answers it; groups are answered in the order they were sent.
 */
export type AppendGroup = readonly (string | number)[];
export const FIELDS_BEFORE_EVENTS = 3;
export const FIELDS_PER_EVENT = 4;

/** Outcome, revision and position (0 with a conflict) of each append in its turn; or why none of them was written. */
export type AppendedGroup =
  | { readonly type: 'committed'; readonly outcomes: readonly number[] }
  | { readonly type: 'failed'; readonly kind: 'unavailable' | 'ambiguous'; readonly message: string };

/** What the writer is sent: it may be asked for leaf hashes of what it has written, too (WrittenLeaves). */
export type WriteMessage = AppendGroup | LeavesQuery;
export type WriteAnswer = AppendedGroup | { readonly type: 'leaves'; readonly page: LeafPage | null };

export const APPENDED = 0;
/** A retry of what was written before. */
export const REPEATED = 1;
export const CONFLICT = 2;
export const FIELDS_PER_OUTCOME = 3;

export type PageQuery =
  | {
      readonly type: 'forwards' | 'backwards';
      readonly stream: string;
      /** Inclusive. */
      readonly from: number;
      readonly limit: number;
    }
  | {
      /** `places`: without data and metadata. */
      readonly type: 'all' | 'places';
      /** Exclusive. */
      readonly after: number;
      readonly limit: number;
    }
  | {
      readonly type: 'category';
      /** Streams of the names `<category>-…`. */
      readonly category: string;
      /** Exclusive. */
      readonly after: number;
      readonly limit: number;
    };

/** `after` as a number. */
export type LeavesQuery = Omit<LeavesFrom, 'after'> & { readonly type: 'leaves'; readonly after: number };

export interface ReadMessage {
  readonly sequence: number;
  readonly query: PageQuery | LeavesQuery | { readonly type: 'head' };
}

/** position, stream, revision, id as 32 hexadecimal digits, type, data, metadata */
export type EventRow = readonly [number, string, number, string, string, string, string];

export type ReadAnswer =
  /** `isEnd`: there was nothing more in this direction; a page may also be short because its events are long. */
  | { readonly type: 'page'; readonly sequence: number; readonly rows: readonly EventRow[]; readonly isEnd: boolean }
  | { readonly type: 'head'; readonly sequence: number; readonly position: number | null }
  | ({ readonly type: 'leaves'; readonly sequence: number } & LeafPage)
  /** The file is not the one that was opened (OpenedFile). */
  | { readonly type: 'not in place'; readonly sequence: number; readonly isReplaced: boolean; readonly message: string }
  /** `isDamage`: no further try can succeed. */
  | { readonly type: 'fault'; readonly sequence: number; readonly isDamage: boolean; readonly message: string };
