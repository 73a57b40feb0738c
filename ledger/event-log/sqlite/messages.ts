/** What crosses between the log's threads. Flat arrays, because each append is copied twice on its way. */

/** stream, expected revision, then id (32 hexadecimal digits), type, data and metadata of each event. */
export type AppendMessage = readonly [sequence: number, stream: string, expected: number, ...events: string[]];

/** What became of an append. */
export type AppendAnswer =
  | readonly [sequence: number, 'appended' | 'repeated', lastRevision: number, position: number]
  | readonly [sequence: number, 'conflict', actualRevision: number]
  | readonly [sequence: number, 'unavailable' | 'ambiguous', message: string];

export type ReadQuery =
  | {
      readonly type: 'forwards' | 'backwards';
      readonly stream: string;
      readonly from: number;
      readonly limit: number;
    }
  | { readonly type: 'all'; readonly after: number; readonly limit: number }
  | { readonly type: 'head' };

export interface ReadMessage {
  readonly sequence: number;
  readonly query: ReadQuery;
}

/** position, stream, revision, id as hexadecimal digits, type, data, metadata */
export type EventRow = [number, string, number, string, string, string, string];

export type ReadAnswer =
  | { readonly sequence: number; readonly rows: EventRow[] }
  | { readonly sequence: number; readonly head: number | null }
  | { readonly sequence: number; readonly fault: string };

export const CLOSE = 'close';
