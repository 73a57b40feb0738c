import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { messageOf } from '../contracts/message-of.ts';
import { isFull, mayPass } from '../ledger/event-log/sqlite/database-fault.ts';
import { closeWhole, settle } from './closed-mark.ts';
import { KeptRoomError, RoomToKeep } from './room-to-keep.ts';
import type { Batch } from './view-file.ts';
import type { CloseRequest, WriteFault } from './view-store.ts';

/** The one connection that writes rows to a views' file: what it is given between two commits is one transaction. */
export class RowWriter {
  readonly #database: DatabaseSync;
  readonly #room: RoomToKeep | null;
  readonly #prepared = new Map<string, StatementSync>();
  #isOpenInFile = false;

  /** @param keepFreeBytes the disk is left so much; null for whoever may have all @throws Error of SQLite */
  constructor(path: string, keepFreeBytes: number | null) {
    this.#database = new DatabaseSync(path, { timeout: 5_000 });
    this.#room = keepFreeBytes === null ? null : new RoomToKeep(this.#database, { path, keepFreeBytes });
  }

  /** @throws KeptRoomError; Error of SQLite: then nothing of the transaction is to be kept */
  write(batches: readonly Batch[]): void {
    if (!this.#database.isTransaction) this.#begin();
    for (const { statements, rows } of batches)
      for (const row of rows) {
        this.#room?.beforeRow();
        for (const [sql, values] of statements) this.#prepare(sql).run(...row.slice(0, values));
      }
  }

  /** @throws as `write` */
  commit(): void {
    this.#room?.look();
    this.#database.exec('COMMIT');
  }

  /** What was not committed is gone. @throws Error of SQLite: nothing is known of the file then */
  rollBack(): void {
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** @throws Error of SQLite */
  close(how: CloseRequest['close']): void {
    if (how === 'whole') this.#markWhole();
    this.#database.close();
  }

  #begin(): void {
    // Before what is written now is in it, too.
    if (!this.#isOpenInFile) this.#isOpenInFile = settle(this.#database);
    this.#database.exec('BEGIN IMMEDIATE');
  }

  /** Where there is no room for it, the next start looks at the rows. */
  #markWhole(): void {
    try {
      closeWhole(this.#database);
    } catch (error) {
      if (!mayPass(error)) throw error;
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#prepared.set(sql, statement);
    }
    return statement;
  }
}

/** Why nothing of a write is in the file. */
export function faultOfWrite(error: unknown): WriteFault {
  const isKept = error instanceof KeptRoomError;
  return { message: messageOf(error), mayPass: isKept || mayPass(error), isFull: isKept || isFull(error) };
}
