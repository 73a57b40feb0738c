import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { startOurs } from '../contenders/ours.ts';
import { LoadGenerator } from '../load-generator.ts';
import { loadOf } from '../measure.ts';
import type { Options } from '../options.ts';
import { WORKLOADS } from '../workloads.ts';

const GROWS_MS = 8_000;

/** What a billed request adds to the ledger's file with its indexes, under the load of `ledger`. */
export async function measureDisk(processes: Processes, options: Pick<Options, 'settleMs' | 'body'>): Promise<number> {
  const upstream = processes.fork('disk-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const ours = await startOurs(processes, port, { profile: false, folder: 'disk-ours' });
  const load = new LoadGenerator(processes, 'disk-load');
  await load.start(loadOf(ours, WORKLOADS.ledger, options));
  await setTimeout(options.settleMs);
  const before = sizeOf(ours.ledger);
  await setTimeout(GROWS_MS);
  await load.read();
  const after = sizeOf(ours.ledger);
  await load.stop();
  for (const name of ['disk-ours', 'disk-load', 'disk-upstream']) await processes.stop(name);
  return (after.bytes - before.bytes) / (after.requests - before.requests);
}

/** The file as it is once its write-ahead log has been moved into it, and the requests that it holds then. */
function sizeOf(ledger: string): { bytes: number; requests: number } {
  const database = new DatabaseSync(ledger, { readOnly: true });
  try {
    const size = database
      .prepare(
        `SELECT page_count * page_size AS bytes, (SELECT count(*) FROM event WHERE type = 'CreditsDebited') AS requests
         FROM pragma_page_count, pragma_page_size`,
      )
      .get();
    return { bytes: Number(size?.bytes), requests: Number(size?.requests) };
  } finally {
    database.close();
  }
}
