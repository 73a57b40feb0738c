import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { bareScan } from './bare-scan.ts';
import { accountsOf, SMALLER_FOR_MEMORY } from './ledger-sizes.ts';
import { type ExportFigure, type ExportSample, exportFigures } from './weight-figures.ts';
import { wholeRun } from './whole-run.ts';

const FORMATS = ['ndjson', 'csv', 'hledger', 'beancount', 'focus', 'parquet'];
/** For the memory alone: else V8 leaves garbage be as long as there is room, and what is resident tells of that. */
const BOUNDED = ['--max-old-space-size=128', '--max-semi-space-size=4'];

/**
 * `gateway ledger export` of a file in each format beside the bare scan of the same file, each alone on one core, in turns; and
 * of one with fewer events of as many accounts, for its memory.
 */
export async function measureExport(processes: Processes, { events, rounds }: Options): Promise<ExportFigure[]> {
  const folder = join(processes.folder, 'export');
  mkdirSync(folder);
  const [ledger, out] = [join(folder, 'ledger.db'), join(folder, 'out')];
  const accounts = accountsOf(events);
  const exported = async (format: string, flags: readonly string[] = []) => {
    const words = [GATEWAY_PROGRAM, '--json', 'ledger', 'export', '--format', format, '--offline', ledger];
    const command = onMeasuredCore([process.execPath, ...flags, ...words, '--out', out]);
    const { stdout, ...run } = await wholeRun(processes, command);
    if (!(JSON.parse(stdout).written > 0)) throw new Error(`export has written ${stdout}`);
    rmSync(out, { recursive: true });
    return run;
  };
  await fillLedger(ledger, { events: Math.floor(events / SMALLER_FOR_MEMORY), accounts });
  const peaks = async (): Promise<ReadonlyMap<string, number>> => {
    const ofFormats = new Map<string, number>();
    for (const format of FORMATS) ofFormats.set(format, (await exported(format, BOUNDED)).peakRssBytes);
    return ofFormats;
  };
  const ofSmaller = await peaks();
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  const filled = await fillLedger(ledger, { events, accounts });
  const ofWhole = await peaks();
  const samples: ExportSample[] = [];
  for (let round = 0; round < rounds; round++) {
    const scan = await bareScan(processes, ledger);
    for (const format of FORMATS) {
      const run = { ...(await exported(format)), peakRssBytes: ofWhole.get(format) ?? 0 };
      samples.push({ format, events: filled, scan, run, peakRssBytesOfQuarter: ofSmaller.get(format) ?? 0 });
    }
  }
  rmSync(folder, { recursive: true });
  return exportFigures(samples);
}
