import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { accountsOf, SMALLER_FOR_TIME } from './ledger-sizes.ts';
import type { AtSample } from './weight-figures.ts';
import { wholeRun } from './whole-run.ts';

const STATES_AT = fileURLToPath(new URL('states-at.ts', import.meta.url));
const ACCOUNTS_READ = 200;

/** What single accounts were at an instant, in a ledger and in one of a tenth of its events, in turns on one core. */
export async function measureAt(processes: Processes, { events, rounds }: Options): Promise<AtSample[]> {
  const folder = join(processes.folder, 'at');
  mkdirSync(folder);
  const ledgers: { path: string; events: number; accounts: number }[] = [];
  for (const size of [Math.floor(events / SMALLER_FOR_TIME), events]) {
    const [path, accounts] = [join(folder, `${size}.db`), accountsOf(size)];
    ledgers.push({ path, accounts, events: await fillLedger(path, { events: size, accounts }) });
  }
  const samples: AtSample[] = [];
  for (let round = 0; round < rounds; round++)
    for (const { path, accounts, events: inLedger } of ledgers) {
      const words = [STATES_AT, path, String(accounts), String(ACCOUNTS_READ)];
      const { stdout } = await wholeRun(processes, onMeasuredCore([process.execPath, ...words]));
      const read = JSON.parse(stdout);
      samples.push({ round, events: inLedger, eventsRead: read.events, ms: read.ms, accounts: ACCOUNTS_READ });
    }
  rmSync(folder, { recursive: true });
  return samples;
}
