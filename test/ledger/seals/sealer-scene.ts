import { join } from 'node:path';
import pino from 'pino';
import { BASE_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog, ProposedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream, NO_STREAM, type Revision, revision } from '../../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { keyOfFolder } from '../../../ledger/seals/seal-keys.ts';
import { Sealer } from '../../../ledger/seals/sealer.ts';
import { startFakeEventStore } from '../../eventstoredb/fake-event-store.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import type { SealChain } from '../../fixtures/ledger/seal-chain.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

export const NOW_MS = Date.parse('2026-11-23T10:00:00.000Z');
export const ACCOUNT = accountStream(accountId('acct_1'));
const NEVER_MS = 1_000_000_000;

/** A ledger with its identity, so that its sealed sequence has one event. */
export async function newLog(): Promise<MemoryEventLog> {
  const log = new MemoryEventLog();
  await identifyLedger(log, NOW_MS, recordingBy('test', NOW_MS), BASE_FORMS);
  return log;
}

type Given = Partial<ConstructorParameters<typeof Sealer>[0]>;

function sealerOn(log: EventLog, { dataFolder = temporaryFolder(), ...given }: Given = {}) {
  const lines: string[] = [];
  const sealer = new Sealer({
    log,
    dataFolder,
    key: () => keyOfFolder(dataFolder).key,
    replaceLost: 'replace lost',
    events: 10,
    afterMs: NEVER_MS,
    copyTo: null,
    clock: () => NOW_MS,
    mayWrite: () => true,
    logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
    ...given,
  });
  return endedLater({ sealer, dataFolder, lines, close: () => sealer.close() });
}

export function started(log: EventLog, given: Given = {}) {
  const made = sealerOn(log, given);
  made.sealer.start();
  return made;
}

/** As `newLog`, in a file, which hashes where it reads. */
export async function newFile(): Promise<EventLog> {
  const log = endedLater(await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') }));
  await identifyLedger(log, NOW_MS, recordingBy('test', NOW_MS), BASE_FORMS);
  return log;
}

/** As `newLog`, on a server, which stamps what it takes. */
async function newStore(): Promise<EventLog> {
  const { connectionString } = endedLater(await startFakeEventStore());
  const log = endedLater(await openEventStoreDbEventLog({ connectionString }));
  await identifyLedger(log, NOW_MS, recordingBy('test', NOW_MS), BASE_FORMS);
  return log;
}

/** Of either kind. */
export const LOGS = [
  { kind: 'a file', newLog: newFile },
  { kind: 'a server', newLog: newStore },
] as const;

/** Events that say, as a server's stamps do, that they were written now. */
export async function writeNow(log: EventLog, count: number): Promise<void> {
  const metadata = JSON.stringify({ schemaVersion: 1, ...recordingBy('test', Date.now()) });
  const events = Array.from({ length: count }, (): ProposedEvent => {
    const { commandId } = recordingBy('test', Date.now());
    return { id: commandId as never, type: 'AccountSuspended', data: '{"reason":"x"}', metadata };
  });
  let last: Revision = NO_STREAM;
  for await (const event of log.readStream(ACCOUNT, { direction: 'backwards', limit: 1 })) last = event.revision;
  await log.append(ACCOUNT, last, events);
}

/** Events of an account that no seal looks into. */
export async function write(log: MemoryEventLog, count: number): Promise<void> {
  const last = log.events.findLast(({ stream }) => stream === ACCOUNT)?.revision ?? NO_STREAM;
  for (let at = 0; at < count; at++) {
    const { commandId } = recordingBy('test', NOW_MS);
    const proposed = { id: commandId as never, type: 'AccountSuspended', data: `{"reason":"${at}"}`, metadata: '{}' };
    await log.append(ACCOUNT, revision(last + at), [proposed]);
  }
}

export const sizesOf = ({ seals }: SealChain): number[] => seals.map(({ treeSize }) => treeSize);
