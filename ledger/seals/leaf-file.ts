import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { assertInNoBackup } from '../in-no-backup.ts';
import type { SealedLeaves } from './locate-damage.ts';
import { type Digest, digestOfHex, hexOf } from './merkle.ts';

/** A line for each sealed event, from the first on: the leaf hash in hexadecimal. So each is found by its ordinal. */
const LINE_BYTES = 65;

const FIRST_LINE = /^[0-9a-f]{64}\n$/;

/** Leaf hashes that were kept; of the file what is asked for is read. @throws Error of the file system, or that says what it is */
export class LeafFile implements SealedLeaves {
  readonly #file: number;

  constructor(path: string) {
    const stats = statSync(path);
    // What is no file is not opened: a pipe may wait for ever.
    if (!stats.isFile()) throw new Error('is no file');
    this.#file = openSync(path, 'r');
    const line = Buffer.alloc(LINE_BYTES);
    readSync(this.#file, line, 0, LINE_BYTES, 0);
    if (stats.size % LINE_BYTES === 0 && FIRST_LINE.test(line.toString('latin1'))) return;
    this.close();
    throw new Error('expected leaf hashes, a line each, as --keep-leaves has kept them whole');
  }

  range(first: number, count: number): Digest[] {
    const bytes = Buffer.alloc(count * LINE_BYTES);
    let read = 0;
    for (let more = 1; more > 0 && read < bytes.length; read += more)
      more = readSync(this.#file, bytes, read, bytes.length - read, first * LINE_BYTES + read);
    const lines = bytes.toString('latin1', 0, read - (read % LINE_BYTES)).split('\n');
    return lines.slice(0, -1).map(digestOfHex);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Keeps them. A file that is there is left alone: it may be all that tells an event. @throws LedgerLostError where it would be in a backup; Error of the file system */
export class LeafFileWriter {
  readonly #file: number;

  constructor(path: string) {
    assertInNoBackup(path);
    this.#file = openSync(path, 'wx', 0o600);
  }

  append(leaves: readonly Digest[]): void {
    const bytes = Buffer.from(leaves.map((leaf) => `${hexOf(leaf)}\n`).join(''), 'latin1');
    for (let written = 0; written < bytes.length; ) written += writeSync(this.#file, bytes, written);
  }

  close(): void {
    closeSync(this.#file);
  }
}
