import { fileURLToPath } from 'node:url';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { eventStore } from '../event-store.ts';
import type { Options } from '../options.ts';
import { bareScan } from './bare-scan.ts';
import { GatewayFolder } from './gateway-folder.ts';
import { accountsOf } from './ledger-sizes.ts';
import type { RebuildSample } from './rebuild-figure.ts';
import { wholeRun } from './whole-run.ts';

const READ_ALL = fileURLToPath(new URL('read-all.ts', import.meta.url));

/**
 * `gateway projections rebuild` from nothing and verified, without the switch, beside what reading the log costs by itself on one core, in
 * turns: of the embedded log on all cores, then on that one of an event store to which `gateway ledger copy` has brought the same ledger.
 */
export async function measureRebuild(processes: Processes, { events, rounds }: Options): Promise<RebuildSample[]> {
  const folder = await GatewayFolder.make(processes, 'rebuild', { events, accounts: accountsOf(events) });
  const samples: RebuildSample[] = [];
  for (let round = 0; round < rounds; round++)
    samples.push({
      log: 'sqlite',
      bare: await bareScan(processes, folder.ledger),
      rebuild: await rebuilt((...words) => folder.runOnAll(...words), events),
    });
  const { connectionString } = await eventStore(processes, 'event-store');
  await folder.moveTo(connectionString);
  const readAll = onMeasuredCore([process.execPath, READ_ALL, connectionString]);
  for (let round = 0; round < rounds; round++)
    samples.push({
      log: 'eventstoredb',
      bare: await wholeRun(processes, readAll),
      rebuild: await rebuilt((...words) => folder.run(...words), events),
    });
  return samples;
}

async function rebuilt(runs: GatewayFolder['run'], events: number): Promise<RebuildSample['rebuild']> {
  const { stdout, ...run } = await runs('--json', 'projections', 'rebuild', '--all', '--anew', '--dry-run');
  const folded = JSON.parse(stdout).events;
  if (folded < events) throw new Error(`of ${events} events ${folded} were folded`);
  return run;
}
