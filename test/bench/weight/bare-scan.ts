import { fileURLToPath } from 'node:url';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { onMeasuredCore } from '../cores.ts';
import { wholeRun } from './whole-run.ts';

const SCAN = fileURLToPath(new URL('scan.ts', import.meta.url));

/** What reading a ledger's file costs by itself, on the measured core. */
export const bareScan = (processes: Processes, ledger: string): ReturnType<typeof wholeRun> =>
  wholeRun(processes, onMeasuredCore([process.execPath, SCAN, ledger]));
