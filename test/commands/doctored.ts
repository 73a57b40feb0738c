import { runHere } from '../fixtures/processes/run-here.ts';

/** The exit code where there is one. */
export const FAULTS = 5;

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly says: string;
  readonly advice: string | null;
}

export async function doctor(config: string, ...args: string[]) {
  const { exitCode, stdout, stderr } = await runHere('--config', config, '--json', 'doctor', ...args);
  const findings: Finding[] = JSON.parse(stdout);
  const of = (name: string) => findings.find(({ check }) => check === name);
  return {
    exitCode,
    stderr,
    findings,
    of,
    states: Object.fromEntries(findings.map(({ check, state }) => [check, state])),
  };
}
