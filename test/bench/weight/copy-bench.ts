import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EVENTSTOREDB_LIMITS } from '../../../ledger/event-log/eventstoredb/limits.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { eventStore } from '../event-store.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import type { CopySample } from './copy-figure.ts';
import { accountsOf } from './ledger-sizes.ts';
import { wholeRun } from './whole-run.ts';

const COPY_RUN = fileURLToPath(new URL('copy-run.ts', import.meta.url));

/** The copy of a ledger from its file to an event store, beside as many of its appends at once as the adapter sends, in turns. */
export async function measureCopy(processes: Processes, { events, rounds }: Options): Promise<CopySample[]> {
  const path = join(processes.folder, 'copied.db');
  await fillLedger(path, { events, accounts: accountsOf(events) });
  const { connectionString } = await eventStore(processes, 'event-store');
  const run = async (atOnce: number): Promise<{ events: number; seconds: number; peakRssBytes: number }> => {
    const command = [process.execPath, COPY_RUN, path, connectionString, String(atOnce)];
    const { stdout, peakRssBytes } = await wholeRun(processes, onMeasuredCore(command));
    return { ...JSON.parse(stdout), peakRssBytes };
  };
  const samples: CopySample[] = [];
  for (let round = 0; round < rounds; round++)
    samples.push({ appends: await run(EVENTSTOREDB_LIMITS.appendsInFlightMax), copy: await run(1) });
  return samples;
}
