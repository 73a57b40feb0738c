import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type LedgerId, NO_STREAM, type Revision, revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { jsonOf } from '../../contracts/json-object.ts';
import { SEAL_LIMITS } from './limits.ts';

/** A line of a copy: as `gateway ledger events --json` has it, without the position, which is the log's own. */
const sealLine = ({ stream, revision, id, type, data, metadata }: RecordedEvent): string =>
  `${JSON.stringify({ stream, revision, id, type }).slice(0, -1)},"data":${data},"metadata":${metadata}}\n`;

const lastLine = z.looseObject({ stream: z.literal(SEALS_STREAM), revision: z.int().min(0).transform(revision) });

/**
 * The stream `seals` written once more where somebody else keeps it: a file to which lines are only added, so that it may be
 * one that its writer can add to and nobody can cut. A folder gets a file named for the ledger.
 */
export class SealCopies {
  readonly #log: EventLog;
  readonly #to: string;
  readonly #ledgerId: LedgerId;

  constructor(log: EventLog, to: string, ledgerId: LedgerId) {
    this.#log = log;
    this.#to = to;
    this.#ledgerId = ledgerId;
  }

  /** Adds what the file lacks; on disk when it resolves. One call at a time. @throws EventLogError; Error of the file system */
  async add(): Promise<void> {
    const file = await open(await this.#file(), 'a+');
    try {
      const tail = await tailOf(file);
      const last = lastRevisionIn(tail);
      // What a full disk has cut stays as it is, and is not gone on with.
      let before = tail === '' || tail.endsWith('\n') ? '' : '\n';
      for await (const event of this.#log.readStream(SEALS_STREAM, { from: revision(last + 1) })) {
        await file.appendFile(before + sealLine(event));
        before = '';
      }
      await file.datasync();
    } finally {
      await file.close();
    }
  }

  async #file(): Promise<string> {
    const isFolder = await stat(this.#to).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    return isFolder ? join(this.#to, `seals-${this.#ledgerId}.ndjson`) : this.#to;
  }
}

async function tailOf(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  const length = Math.min(size, SEAL_LIMITS.copyTailBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.toString('utf8', 0, bytesRead);
}

function lastRevisionIn(tail: string): Revision {
  for (const line of tail.split('\n').reverse()) {
    const found = lastLine.safeParse(jsonOf(line));
    if (found.success) return found.data.revision;
  }
  return NO_STREAM;
}
