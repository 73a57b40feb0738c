import { parseArgs } from 'node:util';
import { optionsOf, SEED_MAX, wholeNumber } from '../run-options.ts';
import { fuzzRun } from './fuzz-run.ts';

/**
 * `npm run fuzz -- --seed 7 --seconds 60 --cases 1000000`: ends by itself after the seconds or the cases, whichever come
 * first, and with 1 where an answer was not as it should be; then it prints the command that runs that case again, alone.
 */
const SECONDS_MAX = 3_600;
const CASES_MAX = 100_000_000;
const USAGE = 'npm run fuzz -- [--seed NUMBER] [--seconds NUMBER] [--cases NUMBER]';

const { seed, seconds, casesMax } = optionsOf(USAGE, readOptions);
process.stdout.write(`npm run fuzz -- --seed ${seed} --seconds ${seconds} --cases ${casesMax}\n`);
const { cases, faults } = await fuzzRun({ seed, casesMax, msMax: seconds * 1_000 });
process.stdout.write(`${JSON.stringify(cases)}, ${faults.length} faults\n`);
for (const { seed: again, kind, fault } of faults)
  process.stderr.write(`\n${kind}: ${fault}\nagain: npm run fuzz -- --seed ${again} --cases 1\n`);
if (faults.length > 0) process.exitCode = 1;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      seconds: { type: 'string', default: '60' },
      cases: { type: 'string', default: '1000000' },
    },
  });
  return {
    seed: wholeNumber('seed', values.seed, SEED_MAX),
    seconds: wholeNumber('seconds', values.seconds, SECONDS_MAX),
    casesMax: wholeNumber('cases', values.cases, CASES_MAX),
  };
}
