import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { ProposedRecord } from './stored-event.ts';

/** One line of the file: what one append stored, or the end of a stream. */
export type LogRecord =
  | {
      readonly type: 'append';
      readonly stream: string;
      readonly createdMs: number;
      readonly events: readonly ProposedRecord[];
    }
  | { readonly type: 'tombstone'; readonly stream: string; readonly createdMs: number };

const LINE_END = 10;

/**
 * What the log stored, line by line, written before the client is answered: it outlives `kill -9` of the process, not a
 * loss of power. A last line without its end was never answered for, and is cut off when the file is opened.
 */
export class LogFile {
  readonly #descriptor: number;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.#descriptor = openSync(path, 'a+');
  }

  /** The records of earlier runs, oldest first. To be asked once, before anything is written. */
  *read(): Generator<LogRecord> {
    const bytes = readFileSync(this.#path);
    const wholeBytes = bytes.lastIndexOf(LINE_END) + 1;
    if (wholeBytes < bytes.length) ftruncateSync(this.#descriptor, wholeBytes);
    let from = 0;
    while (from < wholeBytes) {
      const to = bytes.indexOf(LINE_END, from);
      yield parseLine(bytes.toString('utf8', from, to));
      from = to + 1;
    }
  }

  write(record: LogRecord): void {
    const line = Buffer.from(`${lineOf(record)}\n`);
    let written = 0;
    while (written < line.length) written += writeSync(this.#descriptor, line, written);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

type Line = [stream: string, createdMs: number, events: LineEvent[] | null];
type LineEvent = [id: string, type: string, contentType: string, data: string, metadata: string];

function lineOf(record: LogRecord): string {
  const events = record.type === 'tombstone' ? null : record.events.map(lineEventOf);
  return JSON.stringify([record.stream, record.createdMs, events] satisfies Line);
}

const lineEventOf = ({ id, type, contentType, data, metadata }: ProposedRecord): LineEvent => [
  id,
  type,
  contentType,
  base64Of(data),
  base64Of(metadata),
];

const base64Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

function parseLine(line: string): LogRecord {
  const [stream, createdMs, events] = JSON.parse(line) as Line;
  if (events === null) return { type: 'tombstone', stream, createdMs };
  return {
    type: 'append',
    stream,
    createdMs,
    events: events.map(([id, type, contentType, data, metadata]) => ({
      id,
      type,
      contentType,
      data: Buffer.from(data, 'base64'),
      metadata: Buffer.from(metadata, 'base64'),
    })),
  };
}
