const LF = 0x0a;
/** As though a line had just ended. */
export const NOTHING_SENT = LF;

/** The last four bytes of what has been sent, as a number, once `bytes` follow those that it was before. */
export function lastBytes(bytes: Buffer, before: number): number {
  const { length } = bytes;
  if (length >= 4) return bytes.readInt32BE(length - 4);
  let last = before;
  for (const byte of bytes) last = (last << 8) | byte;
  return last;
}

/**
 * Ends the line that a stream of events was torn in, and nothing more: a blank line would complete an event that its provider
 * has not completed. A lone CR gets its LF, for readers that know no end of a line but LF (Go's); half a character is filled up,
 * for readers that fail on one (Python's).
 *
 * @param last what `lastBytes` has made of all that was sent
 */
export function endOfTornLine(last: number): Buffer {
  if ((last & 0xff) === LF) return Buffer.alloc(0);
  return Buffer.concat([restOfCharacter(last), Buffer.from([LF])]);
}

/** Bytes that make a whole character of UTF-8 of the one that the bytes end in: none where it is whole, or not UTF-8. */
function restOfCharacter(last: number): Buffer {
  let following = 0;
  while (following < 3 && (byteAt(last, following) & 0xc0) === 0x80) following++;
  const lead = byteAt(last, following);
  const missing = lengthBy(lead) - 1 - following;
  // What may stand second differs by the first (RFC 3629, 4).
  return Buffer.alloc(Math.max(missing, 0), lead === 0xe0 || lead === 0xf0 ? 0xbf : 0x80);
}

const byteAt = (last: number, fromEnd: number): number => (last >>> (8 * fromEnd)) & 0xff;

function lengthBy(lead: number): number {
  if (lead >= 0xf0) return 4;
  if (lead >= 0xe0) return 3;
  return lead >= 0xc0 ? 2 : 1;
}
