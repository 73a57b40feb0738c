import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import type { TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Kind } from '../written-before/kept-state.ts';

export const KINDS: readonly Kind[] = ['sqlite', 'eventstoredb'];

/** A data folder, and what a gateway of it is started with. */
export interface FolderWithLedger extends Pick<TestGatewayOptions, 'log' | 'settings'> {
  readonly data: string;
}

type Until = Parameters<typeof endedLater>[1];

/** A data folder whose ledger is copied with it: also that of an event store, which keeps what it has in a file there. */
export async function folderWithLedger(kind: Kind, until?: Until): Promise<FolderWithLedger> {
  const data = temporaryFolder();
  return { data, ...(await ledgerIn(kind, data, until)) };
}

/** A copy of such a folder. It has the configuration that the gateway of that one was started with, for the copy. */
export async function copyOfFolder(kind: Kind, whole: string): Promise<FolderWithLedger> {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  const ledger = await ledgerIn(kind, data);
  const config = join(data, 'gateway.json');
  const before = JSON.parse(readFileSync(config, 'utf8'));
  writeFileSync(config, JSON.stringify({ ...before, data, ...ledger.settings }));
  return { data, ...ledger };
}

async function ledgerIn(kind: Kind, data: string, until?: Until): Promise<Omit<FolderWithLedger, 'data'>> {
  if (kind === 'sqlite') return {};
  const stored = endedLater(new StoredLog({ file: join(data, 'events.ndjson') }), until);
  const { connectionString } = endedLater(await startFakeEventStore({ log: stored }), until);
  const log = endedLater(await openEventStoreDbEventLog({ connectionString }), until);
  return { log, settings: { eventLog: { kind, connectionString } } };
}
