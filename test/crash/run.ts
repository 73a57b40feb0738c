import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { numberIn, optionsOf, SEED_MAX, wholeNumber } from '../run-options.ts';
import { casesFrom, requestCases, type SceneName, scenesOf } from './crash-cases.ts';
import { type CrashAudit, crashRun } from './crash-run.ts';
import { notPlayable, playScene } from './scenes/play-scene.ts';

/**
 * `npm run crash -- --kills 50 --seed 7 --seconds-between 1 --log eventstoredb --cases all --data DIR`: the long run. It prints a summary and ends
 * with 1 when anything is not as it should be; then the folder stays, and the command that replays the run is printed.
 * The seed draws the requests and the instants; what the machine makes of them is its own.
 */
const KILLS_MAX = 10_000;
const SECONDS_BETWEEN_MAX = 60;
const FAULTS_SHOWN_MAX = 40;

const given = givenEventStore();
const { values, kills, seed, secondsBetween, log, cases } = optionsOf('npm run crash --', () => {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '50' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      'seconds-between': { type: 'string', default: '1' },
      log: { type: 'string', default: given === null ? 'sqlite' : 'eventstoredb' },
      cases: { type: 'string', default: 'all' },
      data: { type: 'string' },
    },
  });
  const { log } = values;
  if (log !== 'sqlite' && log !== 'eventstoredb') throw new RangeError('--log: expected sqlite or eventstoredb');
  return {
    values,
    kills: wholeNumber('kills', values.kills, KILLS_MAX),
    seed: wholeNumber('seed', values.seed, SEED_MAX),
    secondsBetween: numberIn('seconds-between', values['seconds-between'], SECONDS_BETWEEN_MAX, 0.001),
    log,
    cases: casesFrom(values.cases),
  } as const;
});
const folder = values.data === undefined ? mkdtempSync(join(tmpdir(), 'gateway-crash-')) : resolve(values.data);
const replay = `npm run crash -- --kills ${kills} --seed ${seed} --seconds-between ${secondsBetween} --log ${log} --cases ${values.cases}`;

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
    given,
    cases,
    onKill: (kill, requests) => process.stdout.write(`kill ${kill}: ${requests} requests so far\n`),
  });
  report(audit);
  for (const name of scenesOf(cases)) await scene(name);
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}
if (process.exitCode === 1) process.stderr.write(`\nthe folder stays: ${folder}\nagain: ${replay}\n`);
else if (values.data === undefined) rmSync(folder, { recursive: true, force: true });

/** A scene has a folder of its own in the run's. */
async function scene(name: SceneName): Promise<void> {
  const obstacle = notPlayable(name);
  if (obstacle !== null) {
    process.stdout.write(`${name}: left out: ${obstacle}\n`);
    return;
  }
  const sceneFolder = join(folder, name);
  mkdirSync(sceneFolder, { recursive: true });
  const say = (text: string): void => {
    process.stdout.write(`${name}: ${text}\n`);
  };
  const { faults, told } = await playScene(name, { folder: sceneFolder, seed, cases: requestCases(cases), say });
  say(told);
  tell(faults);
}

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
  cases,
  lowestMicroUsd,
  looks,
  limits,
  grants,
  late,
  openExceptions,
}: CrashAudit): void {
  const recorded = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  process.stdout.write(
    `${kills} kills, ${failedStarts} starts that came to nothing, ${sent} requests sent, ${seen} seen by the upstream\nrecorded: ${recorded.join(', ')}\n${debits} debits, ${debitedMicroUsd} micro-USD\n`,
  );
  process.stdout.write(`${openExceptions} exceptions are open, ${late} of requests reported late\n`);
  const trouble = Object.entries(struck).map(([kind, count]) => `${count} ${kind}`);
  const byCase = Object.entries(cases).map(([name, count]) => `${count} ${name}`);
  process.stdout.write(`cases: ${byCase.join(', ')}; ${grants} grants and ${limits} limits meanwhile\n`);
  process.stdout.write(`/me looked at ${looks} times, never below ${lowestMicroUsd ?? 'anything'} micro-USD\n`);
  if (trouble.length > 0) process.stdout.write(`trouble of the log: ${trouble.join(', ')}\n`);
  tell(faults);
}

function tell(faults: readonly string[]): void {
  if (faults.length === 0) {
    process.stdout.write('nothing lost, nothing twice, every amount recomputed\n');
    return;
  }
  process.exitCode = 1;
  process.stderr.write(`\n${faults.length} violations:\n`);
  for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) process.stderr.write(`  ${fault}\n`);
  if (faults.length > FAULTS_SHOWN_MAX) process.stderr.write(`  and ${faults.length - FAULTS_SHOWN_MAX} more\n`);
}
