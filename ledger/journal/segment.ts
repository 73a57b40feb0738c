/** A segment that is part of the journal, and how much of it is still needed. */
export interface Segment {
  readonly number: number;
  readonly path: string;
  /** Size of the file. */
  bytes: number;
  /** Records of open requests in it, and their bytes. */
  liveRecords: number;
  liveBytes: number;
  /** Whether a part of it could not be read when the journal was opened. */
  isDamaged: boolean;
}

export function newSegment(number: number, path: string, bytes: number): Segment {
  return { number, path, bytes, liveRecords: 0, liveBytes: 0, isDamaged: false };
}
