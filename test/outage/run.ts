import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
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
const FAULTS_SHOWN_MAX = 40;

const { values, seconds, seed } = optionsOf('npm run outage --', () => {
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
const folder = values.data === undefined ? mkdtempSync(join(tmpdir(), 'gateway-outage-')) : resolve(values.data);
const again = `npm run outage -- --seconds ${seconds} --seed ${seed}${values.restart ? '' : ' --no-restart'}`;

// Ended from outside, it takes its processes along (child-process.ts).
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
process.stdout.write(`${again}\n`);
const broker = await startBrokersToTake(1);
try {
  report(await outageRun({ folder, given: givenEventStore(), broker, seed, seconds, restart: values.restart }));
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
} finally {
  await broker?.stop();
}
if (process.exitCode === 1) process.stderr.write(`\nthe folder stays: ${folder}\nagain: ${again}\n`);
else if (values.data === undefined) rmSync(folder, { recursive: true, force: true });

/** Nothing where no relay ran. */
function publishedText({ published }: OutageResult): string {
  if (published === null) return '';
  const { lost, outOfOrder, duplicates } = published;
  const away = broker?.cluster === null ? '' : ', the broker paused and killed meanwhile';
  return `on the topic${away}: ${lost} events lost, ${outOfOrder} out of order, ${duplicates} duplicated\n`;
}

function report(result: OutageResult): void {
  const { faults, sent, servedDuring, refusedDuring, journalBytes, pendingAtEnd, drainMs, recorded } = result;
  process.stdout.write(`the event log was away for ${seconds} s${values.restart ? ', the gateway killed meanwhile' : ''}
requests: ${sent} sent in all; while the log was away ${servedDuring} served to the end, ${refusedDuring} refused
/readyz said: ${JSON.stringify(result.told.ready)}
journal at its end: ${journalBytes} bytes, ${pendingAtEnd} requests waiting for the ledger
time to drain: ${drainMs} ms
recorded in the ledger: ${recorded}
${publishedText(result)}`);
  if (faults.length === 0) {
    process.stdout.write('every request billed once, every amount recomputed\n');
    return;
  }
  process.exitCode = 1;
  process.stderr.write(`\n${faults.length} violations:\n`);
  for (const fault of faults.slice(0, FAULTS_SHOWN_MAX)) process.stderr.write(`  ${fault}\n`);
}
