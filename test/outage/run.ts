import { parseArgs } from 'node:util';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { longRun, say, tellFaults } from '../fixtures/processes/long-run.ts';
import { startBrokersToTake } from '../kafka/start-broker.ts';
import { numberIn, optionsOf, SEED_MAX, wholeNumber } from '../run-options.ts';
import { type OutageResult, outageRun } from './outage-run.ts';

/**
 * `npm run outage -- --seconds 60 --seed 7 --no-restart --data DIR`: the event log is away for so long under steady
 * load, and in the middle of it the gateway is killed and started again. Ends with 1 when anything is not as it should
 * be; then the folder stays.
 */
/** Less than `projections.maxAgeMs`, after which requests are refused, and should be. */
const SECONDS_MAX = 280;

const USAGE = 'npm run outage -- [--seconds NUMBER] [--seed NUMBER] [--no-restart] [--data DIR]';

const { values, seconds, seed } = optionsOf(USAGE, () => {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      restart: { type: 'boolean', default: true },
      data: { type: 'string' },
    },
    allowNegative: true,
  });
  return {
    values,
    seconds: numberIn('seconds', values.seconds, SECONDS_MAX, 1),
    seed: wholeNumber('seed', values.seed, SEED_MAX),
  };
});
const replay = `npm run outage -- --seconds ${seconds} --seed ${seed}${values.restart ? '' : ' --no-restart'}`;

await longRun({ name: 'outage', replay, data: values.data }, async (folder) => {
  const broker = await startBrokersToTake(1);
  try {
    const given = givenEventStore();
    const result = await outageRun({ folder, given, broker, seed, seconds, restart: values.restart });
    report(result, broker?.cluster === null ? '' : ', the broker paused and killed meanwhile');
  } finally {
    await broker?.stop();
  }
});

/** Nothing where no relay ran. */
function publishedText({ published }: OutageResult, away: string): string {
  if (published === null) return '';
  const { lost, outOfOrder, duplicates } = published;
  return `on the topic${away}: ${lost} events lost, ${outOfOrder} out of order, ${duplicates} duplicated`;
}

function report(result: OutageResult, away: string): void {
  const { faults, sent, servedDuring, refusedDuring, journalBytes, pendingAtEnd, drainMs, recorded } = result;
  say(`the event log was away for ${seconds} s${values.restart ? ', the gateway killed meanwhile' : ''}
requests: ${sent} sent in all; while the log was away ${servedDuring} served to the end, ${refusedDuring} refused
/readyz said: ${JSON.stringify(result.told.ready)}
journal at its end: ${journalBytes} bytes, ${pendingAtEnd} requests waiting for the ledger
time to drain: ${drainMs} ms
recorded in the ledger: ${recorded}
${publishedText(result, away)}`);
  tellFaults(faults, 'every request billed once, every amount recomputed');
}
