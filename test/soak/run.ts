import { parseArgs } from 'node:util';
import { casesFrom, requestCases } from '../crash/crash-cases.ts';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { longRun, say } from '../fixtures/processes/long-run.ts';
import { startBrokersToTake } from '../kafka/start-broker.ts';
import { numberIn, optionsOf, SEED_MAX, wholeNumber } from '../run-options.ts';
import { soakReport } from './soak-report.ts';
import { soakRun } from './soak-run.ts';
import { stormCells, stormTable } from './storm-table.ts';
import { ALL_TROUBLES, STORMS, type StormName } from './troubles.ts';

/**
 * `npm run soak -- --minutes 10 --seed 7 --cases all --data DIR`, and `npm run storm -- kafka --minutes 2`, or `eventstore`, where
 * trouble is of one kind alone. It prints tables and ends with 1 when anything is not as it should be; then the folder stays. The seed draws the requests, the operators' deeds and the kills; what the machine
 * makes of them is its own.
 */
const STORM_NAMES = Object.keys(STORMS) as StormName[];
const MINUTES_MAX = 120;
const MINUTES_MIN = 0.1;
/** What starting, the quiet time and the audit may take on top: past it the run has failed, and ends. */
const REST_MS_MAX = 8 * 60_000;

const STORM_MINUTES = '2';
const SOAK_MINUTES = '10';

const command = process.argv.includes('--storm') ? 'npm run storm --' : 'npm run soak --';
const which = process.argv.includes('--storm') ? ` ${STORM_NAMES.join('|')}` : '';
const { values, storm, minutes, seed, cases } = optionsOf(
  `${command}${which} [--minutes NUMBER] [--seed NUMBER] [--cases all|LIST] [--data DIR]`,
  () => {
    const { values, positionals } = parseArgs({
      options: {
        storm: { type: 'boolean', default: false },
        minutes: { type: 'string' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        cases: { type: 'string', default: 'all' },
        data: { type: 'string' },
      },
      allowPositionals: true,
    });
    const storm = values.storm ? stormNamed(positionals) : null;
    if (storm === null && positionals.length > 0) throw new RangeError(`${positionals[0]}: expected options alone`);
    return {
      values,
      storm,
      minutes: numberIn(
        'minutes',
        values.minutes ?? (storm === null ? SOAK_MINUTES : STORM_MINUTES),
        MINUTES_MAX,
        MINUTES_MIN,
      ),
      seed: wholeNumber('seed', values.seed, SEED_MAX),
      cases: requestCases(casesFrom(values.cases)),
    };
  },
);
const replay = `${command}${storm === null ? '' : ` ${storm}`} --minutes ${minutes} --seed ${seed} --cases ${values.cases}`;

await longRun({ name: 'soak', replay, data: values.data, msMax: minutes * 60_000 + REST_MS_MAX }, async (folder) => {
  const { troubles, brokers } = storm === null ? { troubles: ALL_TROUBLES, brokers: 3 } : STORMS[storm];
  const broker = await startBrokersToTake(brokers);
  if (broker === null)
    throw new Error('the soak needs a broker: npm run kafka, or install kcat, or name one in KAFKA_BROKERS');
  if (broker.cluster === null)
    say('brokers are not killed: they are not of this run (npm run kafka fetches some that are)');
  try {
    const given = givenEventStore();
    const result = await soakRun({ folder, seed, seconds: minutes * 60, broker, given, cases, troubles, say });
    say(soakReport(result));
    const cells = (storm === null ? STORM_NAMES : [storm]).map((name) => stormCells(name, result));
    for (const one of cells) say(stormTable(one));
    if (result.audit.faults.length > 0 || cells.flat().some(({ isRight }) => !isRight)) process.exitCode = 1;
  } finally {
    await broker.stop();
  }
});
// Whatever client library is still reconnecting somewhere does not keep the run.
process.exit();

function stormNamed([name, ...more]: readonly string[]): StormName {
  const found = STORM_NAMES.find((one) => one === name);
  if (found === undefined || more.length > 0) throw new RangeError(`expected one of ${STORM_NAMES.join(', ')}`);
  return found;
}
