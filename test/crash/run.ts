import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { longRun, say, tellFaults } from '../fixtures/processes/long-run.ts';
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

const USAGE =
  'npm run crash -- [--kills NUMBER] [--seed NUMBER] [--seconds-between NUMBER] [--log sqlite|eventstoredb] [--cases all|LIST] [--data DIR]';

const given = givenEventStore();
const { values, kills, seed, secondsBetween, log, cases } = optionsOf(USAGE, () => {
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
const replay = `npm run crash -- --kills ${kills} --seed ${seed} --seconds-between ${secondsBetween} --log ${log} --cases ${values.cases}`;
const NONE = 'nothing lost, nothing twice, every amount recomputed';

await longRun({ name: 'crash', replay, data: values.data }, async (folder) => {
  const onKill = (kill: number, requests: number): void => say(`kill ${kill}: ${requests} requests so far`);
  report(await crashRun({ folder, seed, kills, secondsBetween, log, given, cases, onKill }));
  for (const name of scenesOf(cases)) await scene(name, folder);
});

/** A scene has a folder of its own in the run's. */
async function scene(name: SceneName, folder: string): Promise<void> {
  const tell = (text: string): void => say(`${name}: ${text}`);
  const obstacle = notPlayable(name);
  if (obstacle !== null) return tell(`left out: ${obstacle}`);
  const sceneFolder = join(folder, name);
  mkdirSync(sceneFolder, { recursive: true });
  const { faults, told } = await playScene(name, { folder: sceneFolder, seed, cases: requestCases(cases), say: tell });
  tell(told);
  tellFaults(faults, NONE);
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
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ');
  say(
    `${kills} kills, ${failedStarts} starts that came to nothing, ${sent} requests sent, ${seen} seen by the upstream`,
  );
  say(`recorded: ${counts(outcomes)}\n${debits} debits, ${debitedMicroUsd} micro-USD`);
  say(`${openExceptions} exceptions are open, ${late} of requests reported late`);
  say(`cases: ${counts(cases)}; ${grants} grants and ${limits} limits meanwhile`);
  say(`/me looked at ${looks} times, never below ${lowestMicroUsd ?? 'anything'} micro-USD`);
  if (Object.keys(struck).length > 0) say(`trouble of the log: ${counts(struck)}`);
  tellFaults(faults, NONE);
}
