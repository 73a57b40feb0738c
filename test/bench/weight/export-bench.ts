import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { fillLedger } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { type ExportFigure, type ExportSample, exportFigures } from './weight-figures.ts';
import { wholeRun } from './whole-run.ts';

const SCAN = fileURLToPath(new URL('scan.ts', import.meta.url));
const FORMATS = ['ndjson', 'csv', 'hledger', 'beancount', 'focus', 'parquet'];
const EVENTS_PER_ACCOUNT = 50;

/** `gateway ledger export` of a file in each format beside the bare scan of the same file, each alone on one core, in turns. */
export async function measureExport(processes: Processes, { events, rounds }: Options): Promise<ExportFigure[]> {
  const folder = join(processes.folder, 'export');
  mkdirSync(folder);
  const [ledger, out] = [join(folder, 'ledger.db'), join(folder, 'out')];
  const filled = await fillLedger(ledger, { events, accounts: Math.ceil(events / EVENTS_PER_ACCOUNT) });
  const samples: ExportSample[] = [];
  for (let round = 0; round < rounds; round++) {
    const scan = await wholeRun(processes, onMeasuredCore([process.execPath, SCAN, ledger]));
    for (const format of FORMATS) {
      const words = [GATEWAY_PROGRAM, '--json', 'ledger', 'export', '--format', format, '--offline', ledger];
      const command = onMeasuredCore([process.execPath, ...words, '--out', out]);
      const { stdout, ...run } = await wholeRun(processes, command);
      if (!(JSON.parse(stdout).written > 0)) throw new Error(`export has written ${stdout}`);
      rmSync(out, { recursive: true });
      samples.push({ format, events: filled, scan, run });
    }
  }
  rmSync(folder, { recursive: true });
  return exportFigures(samples);
}
