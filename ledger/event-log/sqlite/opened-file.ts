import type { DatabaseSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { messageOf } from '../../../contracts/message-of.ts';
import { identityOf, lookAt } from './file-identity.ts';

/** The file itself, its write-ahead log, and the index of that: as long as one connection is open, all three stay. */
const ENDS = ['', '-wal', '-shm'] as const;

/** The log's file is not the one that was opened: what is written now would be in no file that anybody can open. */
export interface FileTrouble {
  /** Another file is at its path, for good; otherwise there is none, and the very file may come back. */
  readonly isReplaced: boolean;
  readonly message: string;
}

/**
 * Which file was opened by a path. A connection goes on with a file that was removed or replaced as though nothing had
 * happened, and with it ends all that was written to it; so whoever has a connection asks before it uses it.
 */
export class OpenedFile {
  readonly #parts: readonly { readonly path: string; readonly identity: string }[];
  /** Of the file itself: events are only added, so it never has fewer. */
  #bytes = 0n;

  private constructor(path: string) {
    this.#parts = ENDS.flatMap((end) => {
      const { identity, bytes } = partAt(path + end);
      if (end === '') this.#bytes = bytes;
      return identity === null ? [] : [{ path: path + end, identity }];
    });
  }

  /** A connection by a path, and which file it is of. @throws what `open` throws; EventLogError `unavailable` */
  static open(path: string, open: () => DatabaseSync): { database: DatabaseSync; file: OpenedFile } {
    const before = identityAt(path);
    const database = open();
    const file = new OpenedFile(path);
    if (before === null || file.identity === before) return { database, file };
    database.close();
    throw new EventLogError('unavailable', `${path} was replaced while it was opened`);
  }

  /** Of the file itself, to be compared; null where the file system tells files apart by nothing. */
  get identity(): string | null {
    return this.#parts[0]?.identity ?? null;
  }

  /** Another file was copied into the very file that is open. */
  get isOverwritten(): boolean {
    const [file] = this.#parts;
    if (file === undefined) return false;
    const { identity, bytes } = partAt(file.path);
    return identity === file.identity && this.#hasShrunk(bytes);
  }

  /** Null while what was opened is at its place. Some microseconds. */
  trouble(): FileTrouble | null {
    for (const part of this.#parts) {
      const found = partAt(part.path);
      if (found.identity === part.identity) {
        if (part === this.#parts[0] && this.#hasShrunk(found.bytes))
          return { isReplaced: true, message: `${part.path} was overwritten while it was open` };
        continue;
      }
      if (found.identity !== null) return { isReplaced: true, message: `${part.path} was replaced while it was open` };
      const message = `${part.path} is not at its place any more (${found.why}): nothing is read or written until that very file is back`;
      return { isReplaced: false, message };
    }
    return null;
  }

  /** Another file was copied into this one: what moves a -wal into it makes it longer, if anything. */
  #hasShrunk(bytes: bigint): boolean {
    if (bytes < this.#bytes) return true;
    this.#bytes = bytes;
    return false;
  }
}

const identityAt = (path: string): string | null => partAt(path).identity;

interface FoundPart {
  readonly identity: string | null;
  readonly bytes: bigint;
  /** Why it is not known. */
  readonly why: string;
}

function partAt(path: string): FoundPart {
  try {
    const found = lookAt(path);
    if (found === null) return { identity: null, bytes: 0n, why: 'it was removed or moved away while it was open' };
    return { identity: identityOf(found), bytes: found.size, why: 'it has no inode' };
  } catch (fault) {
    return { identity: null, bytes: 0n, why: messageOf(fault) };
  }
}
