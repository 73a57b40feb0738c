import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog, ProposedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream, commandId, NO_STREAM, type Revision, uuidV7 } from '../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

/** A ledger with an identity, in a file of its own, which relays of other processes may read, and accounts that change their plans. */
export class LedgerFile {
  readonly folder: string;
  readonly log: EventLog;
  /** The last revision of each account. */
  readonly accounts = new Map<string, Revision>();

  /** One that goes with the test. @param nowMs when it was begun */
  static async open(nowMs = Date.now()): Promise<LedgerFile> {
    const folder = temporaryFolder();
    const log = endedLater(await openSqliteEventLog({ path: join(folder, 'ledger.db') }));
    const recording = { commandId: commandId(uuidV7(nowMs, randomBytes(10))), actor: 'gateway' };
    await identifyLedger(log, nowMs, { ...recording, recordedAt: new Date(nowMs).toISOString() }, BASE_FORMS);
    return new LedgerFile(folder, log);
  }

  private constructor(folder: string, log: EventLog) {
    this.folder = folder;
    this.log = log;
  }

  /** Appends so many events to an account, in one append. */
  async append(account: string, events = 1): Promise<void> {
    await this.appendRaw(account, proposed(events));
  }

  async appendRaw(account: string, events: readonly ProposedEvent[]): Promise<void> {
    const stream = accountStream(accountId(account));
    const result = await this.log.append(stream, this.accounts.get(account) ?? NO_STREAM, events);
    if (result.type === 'conflict') throw new Error(`${stream} is at revision ${result.actualRevision}`);
    this.accounts.set(account, result.lastRevision);
  }
}

export function proposed(events: number): ProposedEvent[] {
  const nowMs = Date.now();
  const plans = Array.from({ length: events }, (_, index) => ({
    type: 'PlanChanged' as const,
    data: { plan: `plan ${index} of ${nowMs}`, terms: null },
  }));
  const id = commandId(uuidV7(nowMs, randomBytes(10)));
  return encodeEvents(plans, { commandId: id, actor: 'operator', recordedAt: new Date(nowMs).toISOString() });
}
