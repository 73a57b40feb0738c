import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

export const PREFIX = 'gateway-';

/** A data folder, and a configuration for each of two places of its ledger. */
export interface CopySite {
  readonly data: string;
  readonly store: FakeEventStore;
  readonly inFile: string;
  readonly inStore: string;
}

export async function copySite(): Promise<CopySite> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const store = endedLater(await startFakeEventStore());
  const configuration = (name: string, eventLog: object): string => {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify({ data, eventLog, logLevel: 'fatal' }));
    return file;
  };
  const { connectionString } = store;
  return {
    ...{ data, store, inFile: configuration('file.json', { kind: 'sqlite' }) },
    inStore: configuration('store.json', { kind: 'eventstoredb', connectionString, streamPrefix: PREFIX }),
  };
}

export const copyTo = ({ inFile, store }: CopySite, ...flags: readonly string[]) =>
  runHere(
    ...['--config', inFile, 'ledger', 'copy', '--to', store.connectionString, '--stream-prefix', PREFIX, ...flags],
  );
export const open = (config: string, name: string) =>
  runHere('--config', config, 'account', 'open', '--email', `${name}@example.com`, '--id', `acct_${name}`);
