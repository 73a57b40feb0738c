import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { sealLog } from '../../fixtures/ledger/seal-log.ts';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { bareScan } from './bare-scan.ts';
import { accountsOf, SMALLER_FOR_TIME } from './ledger-sizes.ts';
import { type VerifyFigure, type VerifySample, verifyFigure } from './weight-figures.ts';
import { wholeRun } from './whole-run.ts';

/** Of a ledger that shows what a start costs: modules, threads. */
const EVENTS_OF_A_START = 100;

interface Verifies<One> {
  readonly verify: One;
  /** Of `verify --seals`, once the sealer has sealed the ledger. */
  readonly seals: One;
}

/** `gateway ledger verify` of a file, on all cores, beside the bare scan of the same file on one, in turns; `--seals` on that one. */
export async function measureVerify(processes: Processes, options: Options): Promise<Verifies<VerifyFigure[]>> {
  const { events } = options;
  const start = await measureOne(processes, EVENTS_OF_A_START, options);
  const figures: Verifies<VerifyFigure[]> = { verify: [], seals: [] };
  for (const size of [Math.floor(events / SMALLER_FOR_TIME), events]) {
    const { verify, seals } = await measureOne(processes, size, options);
    figures.verify.push(verifyFigure(verify, start.verify));
    figures.seals.push(verifyFigure(seals, start.seals));
  }
  return figures;
}

async function measureOne(processes: Processes, size: number, { rounds }: Options): Promise<Verifies<VerifySample[]>> {
  const folder = join(processes.folder, `verify-${size}`);
  mkdirSync(folder);
  const ledger = join(folder, 'ledger.db');
  const events = await fillLedger(ledger, { events: size, accounts: accountsOf(size) });
  const samples: Verifies<VerifySample[]> = { verify: [], seals: [] };
  const scanned = () => bareScan(processes, ledger);
  const command = [process.execPath, GATEWAY_PROGRAM, '--json', 'ledger', 'verify', '--offline', ledger];
  for (let round = 0; round < rounds; round++) {
    const scan = await scanned();
    const { stdout, ...verify } = await wholeRun(processes, command);
    const { summary } = JSON.parse(stdout);
    if (summary.events !== events || summary.faults !== 0) throw new Error(`verify has seen ${stdout}`);
    samples.verify.push({ events, scan, verify });
  }
  const log = await openSqliteEventLog({ path: ledger });
  await sealLog(log, folder);
  await log.close();
  for (let round = 0; round < rounds; round++) {
    const scan = await scanned();
    const { stdout, ...verify } = await wholeRun(processes, onMeasuredCore([...command, '--seals']));
    const { verdict, sealed } = JSON.parse(stdout);
    if (verdict !== 'consistent, not anchored' || sealed !== events) throw new Error(`verify has seen ${stdout}`);
    samples.seals.push({ events, scan, verify });
  }
  rmSync(folder, { recursive: true });
  return samples;
}
