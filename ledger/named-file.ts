import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { isPlainName } from '../contracts/secret-like.ts';

/** More than any certificates, key, token, configuration or catalog. */
const BYTES_MAX = 16 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * The text of a file that an operator has named. What is no file is not opened: a pipe may wait for ever, a device has no
 * end. @throws Error whose message says in one line, behind the file's name, what is amiss
 */
export function textOfFile(file: string): string {
  const why = whyUnreadable(file);
  if (why !== null) throw new Error(why);
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Error(whyNot(cause), { cause });
  }
}

/** The same of what a command line names, which may be a pipe as well: `<(…)`, /dev/stdin. It can be read once. @throws so */
export function textOfArgument(file: string): string {
  return isPipe(file) ? textOfPipe(file) : textOfFile(file);
}

/**
 * The lines of such a file or pipe, of any size, one by one; of a line that is longer than that nothing.
 * @throws Error as `textOfFile`
 */
export function* linesOfArgument(file: string, lineCharsMax: number): Generator<string> {
  const why = isPipe(file) ? null : whyNoFile(file);
  if (why !== null) throw new Error(why);
  const decoder = new StringDecoder('utf8');
  const fd = opened(file);
  try {
    let rest = '';
    for (const chunk = Buffer.allocUnsafe(CHUNK_BYTES); ; ) {
      const count = readSync(fd, chunk);
      const lines = (rest + (count === 0 ? decoder.end() : decoder.write(chunk.subarray(0, count)))).split('\n');
      rest = count === 0 ? '' : (lines.pop() ?? '');
      for (const line of lines) yield line.length > lineCharsMax ? '' : line;
      if (count === 0) return;
      // It is known to be too long by now, and stays so.
      rest = rest.slice(0, lineCharsMax + 1);
    }
  } finally {
    closeSync(fd);
  }
}

function opened(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (cause) {
    throw new Error(whyNot(cause), { cause });
  }
}

/** Whether what it names begins in the working folder: what comes by a descriptor, be it a pipe's or a file's, is in no folder of anybody's. */
export const isInNoFolder = (file: string): boolean => DESCRIPTOR.test(resolve(file)) || isPipe(file);

const DESCRIPTOR = /^\/(dev\/stdin|(dev|proc\/(self|\d+))\/fd\/\d+)$/;

function isPipe(file: string): boolean {
  try {
    return statSync(file).isFIFO();
  } catch {
    // Whoever reads it is told why.
    return false;
  }
}

/** The same of what is seen without opening it; null where nothing is amiss. */
export function whyUnreadable(file: string): string | null {
  try {
    const stats = statSync(file);
    if (!stats.isFile() || stats.size <= BYTES_MAX) return whyNoFile(file);
    return `has ${stats.size} bytes, which is more than what it should hold can have`;
  } catch (error) {
    return whyNot(error);
  }
}

function whyNoFile(file: string): string | null {
  try {
    const stats = statSync(file);
    if (stats.isDirectory()) return 'is a folder';
    return stats.isFile() ? null : 'is no file, but a device, a pipe or a socket';
  } catch (error) {
    return whyNot(error);
  }
}

function textOfPipe(pipe: string): string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    const fd = openSync(pipe, 'r');
    try {
      for (;;) {
        const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
        const count = readSync(fd, chunk);
        if (count === 0 || bytes > BYTES_MAX) break;
        bytes += count;
        chunks.push(chunk.subarray(0, count));
      }
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new Error(whyNot(cause), { cause });
  }
  // The program that was to write has failed, or it was read before: an empty configuration would be all defaults.
  if (bytes === 0) throw new Error('is a pipe that nothing came through');
  if (bytes > BYTES_MAX)
    throw new Error(`is a pipe with more than ${BYTES_MAX} bytes, which nothing it should hold has`);
  return Buffer.concat(chunks).toString('utf8');
}

/** Whether nothing is at a path; where that may not be seen, whoever reads it says why. */
export function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return whyNot(error) === MISSING;
  }
}

/** Whether a name in place of that of a secret's file may be the secret: nothing has it. In a closed folder it may be there. */
export const isUntold = (name: string, file: string): boolean => !isPlainName(name) && isMissing(file);

export const MISSING = 'does not exist';

/** Why a file cannot be read, behind its name. */
export function whyNot(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    // No file can have it.
    case 'ENAMETOOLONG':
      return MISSING;
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user';
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
