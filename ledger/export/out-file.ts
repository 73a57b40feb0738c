import { type FileHandle, open, rename, rm } from 'node:fs/promises';

/** Written at once: enough that the calls do not count, little beside the rest of the program. */
const BUFFER_BYTES = 1 << 18;

/**
 * A file that is whole or not there: until its end it has another name. Whoever writes waits for the disk, so that what is in
 * memory is a buffer and never the file. It is its owner's alone, as the ledger is.
 */
export class OutFile {
  readonly path: string;
  readonly #partial: string;
  readonly #handle: FileHandle;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #filled = 0;

  private constructor(path: string, partial: string, handle: FileHandle) {
    this.path = path;
    this.#partial = partial;
    this.#handle = handle;
  }

  /** @throws Error of the file system; EEXIST where somebody else writes the same file */
  static async begin(path: string): Promise<OutFile> {
    const partial = `${path}.partial`;
    return new OutFile(path, partial, await open(partial, 'wx', 0o600));
  }

  /** Waits for the disk where the buffer is full. */
  write(chunk: string | Uint8Array): Promise<void> | undefined {
    const most = typeof chunk === 'string' ? chunk.length * 3 : chunk.byteLength;
    if (most > BUFFER_BYTES - this.#filled) return this.#writeBehind(chunk);
    this.#filled +=
      typeof chunk === 'string'
        ? this.#buffer.write(chunk, this.#filled, 'utf8')
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).copy(this.#buffer, this.#filled);
    return undefined;
  }

  /** The file has its name from here on. */
  async end(): Promise<void> {
    await this.#flush();
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#partial, this.path);
  }

  /** What was written so far is not kept. */
  async drop(): Promise<void> {
    await this.#handle.close();
    await rm(this.#partial, { force: true });
  }

  async #writeBehind(chunk: string | Uint8Array): Promise<void> {
    await this.#flush();
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
    if (bytes.byteLength > BUFFER_BYTES / 2) await this.#handle.appendFile(bytes);
    else this.#filled = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).copy(this.#buffer);
  }

  async #flush(): Promise<void> {
    if (this.#filled > 0) await this.#handle.appendFile(this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}
