import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type CrashAudit, crashRun } from './crash-run.ts';

/**
 * `npm run crash -- --kills 50 --seed 7 --seconds-between 1 --log eventstoredb --data DIR`: the long run. It prints a summary and ends
 * with 1 when anything is not as it should be; then the folder stays, and the command that replays the run is printed.
 * The seed draws the requests and the instants; what the machine makes of them is its own.
 */
const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'seconds-between': { type: 'string', default: '1' },
    log: { type: 'string', default: 'sqlite' },
    data: { type: 'string' },
  },
});
const KILLS_MAX = 10_000;
const FAULTS_SHOWN_MAX = 40;

const kills = wholeNumber('kills', values.kills, KILLS_MAX);
const seed = wholeNumber('seed', values.seed, 2 ** 32 - 1);
const secondsBetween = Number(values['seconds-between']);
if (!(secondsBetween > 0 && secondsBetween <= 60)) throw new RangeError('--seconds-between: expected 0 to 60');
const { log } = values;
if (log !== 'sqlite' && log !== 'eventstoredb') throw new RangeError('--log: expected sqlite or eventstoredb');
const folder = values.data === undefined ? mkdtempSync(join(tmpdir(), 'gateway-crash-')) : resolve(values.data);
const replay = `npm run crash -- --kills ${kills} --seed ${seed} --seconds-between ${secondsBetween} --log ${log}`;

// Ended from outside, it takes its processes along (child-process.ts).
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
process.stdout.write(`${replay}\n`);
try {
  const audit = await crashRun({
    folder,
    seed,
    kills,
    secondsBetween,
    log,
    onKill: (kill, requests) => process.stdout.write(`kill ${kill}: ${requests} requests so far\n`),
  });
  report(audit);
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}
if (process.exitCode === 1) process.stderr.write(`\nthe folder stays: ${folder}\nagain: ${replay}\n`);
else if (values.data === undefined) rmSync(folder, { recursive: true, force: true });

function report({
  faults,
  kills,
  sent,
  seen,
  outcomes,
  debits,
  debitedMicroUsd,
  struck,
  failedStarts,
}: CrashAudit): void {
  const recorded = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  process.stdout.write(
    `${kills} kills, ${failedStarts} starts that came to nothing, ${sent} requests sent, ${seen} seen by the upstream\nrecorded: ${recorded.join(', ')}\n${debits} debits, ${debitedMicroUsd} micro-USD\n`,
  );
  const trouble = Object.entries(struck).map(([kind, count]) => `${count} ${kind}`);
  if (trouble.length > 0) process.stdout.write(`trouble of the log: ${trouble.join(', ')}\n`);
  if (faults.length === 0) {
    process.stdout.write('nothing lost, nothing twice, every amount recomputed\n');
    return;
  }
  process.exitCode = 1;
  process.stderr.write(`\n${faults.length} violations:\n`);
  for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) process.stderr.write(`  ${fault}\n`);
  if (faults.length > FAULTS_SHOWN_MAX) process.stderr.write(`  and ${faults.length - FAULTS_SHOWN_MAX} more\n`);
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > max)
    throw new RangeError(`--${name}: expected a whole number from 0 to ${max}`);
  return value;
}
