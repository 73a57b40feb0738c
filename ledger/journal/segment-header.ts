import { crc32 } from 'node:zlib';
import { JournalError } from './journal-error.ts';

/**
 * The first bytes of a segment, of this form in every format version, so that any release recognises any other's:
 *
 *     0             8                12               16       20
 *     │ "GWJOURNL"  │ format version │ segment number │ CRC-32 │
 */
export const HEADER_BYTES = 20;
const FORMAT_VERSION = 1;
const MAGIC = Buffer.from('GWJOURNL', 'latin1');

export function encodeHeader(segment: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt32LE(FORMAT_VERSION, 8);
  header.writeUInt32LE(segment, 12);
  header.writeUInt32LE(crc32(header.subarray(0, 16)), 16);
  return header;
}

/** Checks a segment's header; its format version. @throws JournalError `foreign_file`, `newer_version`, named */
export function decodeHeader(bytes: Buffer, segment: number, file: string): number {
  const isSegment = bytes.length >= HEADER_BYTES && bytes.subarray(0, MAGIC.length).equals(MAGIC);
  if (!isSegment || crc32(bytes.subarray(0, 16)) !== bytes.readUInt32LE(16))
    throw new JournalError(
      'foreign_file',
      `${file} is not a segment of a journal, or its header is damaged; move it away`,
    );
  const version = bytes.readUInt32LE(8);
  if (version > FORMAT_VERSION)
    throw new JournalError(
      'newer_version',
      `${file} has format version ${version}; this release reads up to ${FORMAT_VERSION}: run the release that wrote it`,
    );
  const number = bytes.readUInt32LE(12);
  if (version < 1 || number !== segment)
    throw new JournalError('foreign_file', `${file} says that it is segment ${number}: it was renamed or copied here`);
  return version;
}

/**
 * Whether a crash came while this segment was being created: less than a header, or one that was not written to the
 * disk (zeros). Such a file holds no record, since the header is on disk before the first one.
 */
export function isTornHeader(bytes: Buffer, segment: number): boolean {
  const header = encodeHeader(segment);
  if (bytes.length > HEADER_BYTES || bytes.equals(header)) return false;
  return bytes.every((byte, index) => byte === 0 || byte === header[index]);
}
