/** A segment that is part of the journal, and how much of it is still needed. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  /** Up to the end of its last record: the size of the file, unless `roomBytes` is more. */
  bytes: number;
  /** Size of a file that was kept as room for the ends of requests and became this segment; 0 for any other. */
  roomBytes: number;
  /** Records of open requests in it, and their bytes. */
  liveRecords: number;
  liveBytes: number;
  /** Whether a part of it could not be read when the journal was opened. */
  isDamaged: boolean;
}

export function newSegment(number: number, path: string, bytes: number): Segment {
  return { number, path, bytes, roomBytes: 0, liveRecords: 0, liveBytes: 0, isDamaged: false };
}
