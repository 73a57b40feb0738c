import type { DatabaseSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { messageOf } from './database-fault.ts';
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

  private constructor(path: string) {
    this.#parts = ENDS.flatMap((end) => {
      const identity = identityAt(path + end);
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

  /** Null while what was opened is at its place. Some microseconds. */
  trouble(): FileTrouble | null {
    for (const part of this.#parts) {
      const found = partAt(part.path);
      if (found.identity === part.identity) continue;
      if (found.identity !== null) return { isReplaced: true, message: `${part.path} was replaced while it was open` };
      const message = `${part.path} is not at its place any more (${found.why}): nothing is read or written until that very file is back`;
      return { isReplaced: false, message };
    }
    return null;
  }
}

const identityAt = (path: string): string | null => partAt(path).identity;

function partAt(path: string): { readonly identity: string | null; readonly why: string } {
  try {
    const found = lookAt(path);
    if (found === null) return { identity: null, why: 'it was removed or moved away while it was open' };
    return { identity: identityOf(found), why: 'it has no inode' };
  } catch (fault) {
    return { identity: null, why: messageOf(fault) };
  }
}
