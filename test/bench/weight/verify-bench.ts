import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { fillLedger } from '../fill-ledger.ts';
import { median } from '../load/latencies.ts';
import type { Options } from '../options.ts';
import type { VerifyFigure } from './weight-figures.ts';
import { type WholeRun, wholeRun } from './whole-run.ts';

const SCAN = fileURLToPath(new URL('scan.ts', import.meta.url));
const EVENTS_PER_ACCOUNT = 50;
/** The smaller ledger of the two that show whether the time grows with the events. */
const SMALLER = 10;

/** `gateway ledger verify` of a file, on all cores, beside the bare scan of the same file on one, in turns. */
export async function measureVerify(processes: Processes, { events, rounds }: Options): Promise<VerifyFigure[]> {
  const figures: VerifyFigure[] = [];
  for (const size of [Math.floor(events / SMALLER), events]) {
    const folder = join(processes.folder, `verify-${size}`);
    mkdirSync(folder);
    const ledger = join(folder, 'ledger.db');
    const filled = await fillLedger(ledger, { events: size, accounts: Math.ceil(size / EVENTS_PER_ACCOUNT) });
    const pairs: { readonly scan: WholeRun; readonly verify: WholeRun }[] = [];
    for (let round = 0; round < rounds; round++) {
      const scan = await wholeRun(processes, onMeasuredCore([process.execPath, SCAN, ledger]));
      const words = [GATEWAY_PROGRAM, '--json', 'ledger', 'verify', '--offline', ledger];
      const { stdout, ...verify } = await wholeRun(processes, [process.execPath, ...words]);
      const { summary } = JSON.parse(stdout);
      if (summary.events !== filled || summary.faults !== 0) throw new Error(`verify has seen ${stdout}`);
      pairs.push({ scan, verify });
    }
    const over = (value: (pair: (typeof pairs)[number]) => number) => median(pairs.map(value));
    figures.push({
      events: filled,
      scanPerS: over(({ scan }) => filled / scan.seconds),
      verifyPerS: over(({ verify }) => filled / verify.seconds),
      cpuUsPerEvent: over(({ verify }) => (verify.cpuSeconds * 1_000_000) / filled),
      rateRatio: over(({ scan, verify }) => scan.seconds / verify.seconds),
    });
    rmSync(folder, { recursive: true });
  }
  return figures;
}
