import { compareCommandClock } from '../../proxy/clock/command-clock.ts';
import { proveLedger } from '../../proxy/program/ledger/proven-ledger.ts';
import { openEventLog } from '../../proxy/program/open-event-log.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import type { ProgramRun } from './run-program.ts';

/**
 * What `runProgram` does, in this process and with all that a process of its own has but `proxy/main.ts`: for commands
 * that end by themselves. Starting a process costs more than most commands do.
 */
export async function runHere(...args: readonly string[]): Promise<ProgramRun> {
  const said = { stdout: '', stderr: '' };
  const exitCode = await runGatewayProgram(
    {
      openEventLog,
      proveLedger: (log, configuration) => proveLedger(log, configuration, Date.now),
      compareClock: (log, { clock: bounds }) =>
        compareCommandClock(log, { wall: Date.now, monotonic: () => performance.now(), bounds }),
      environment: process.env,
      clock: Date.now,
      write: (text) => {
        said.stdout += text;
      },
      warn: (text) => {
        said.stderr += text;
      },
    },
    args,
  );
  return { exitCode, ...said };
}

/** The one JSON value that a command prints with `--json`. @throws Error when it did not end with 0 */
export async function runHereForJson(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await runHere('--json', ...args);
  if (exitCode !== 0) throw new Error(`gateway ${args.join(' ')} ended with ${exitCode}: ${stderr}`);
  return JSON.parse(stdout);
}
