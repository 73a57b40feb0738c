import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { casesFrom, requestCases } from '../crash/crash-cases.ts';
import { startBroker } from '../kafka/start-broker.ts';
import { soakReport } from './soak-report.ts';
import { soakRun } from './soak-run.ts';

/**
 * `npm run soak -- --minutes 10 --seed 7 --cases all --data DIR`. It prints a table and ends with 1 when anything is not as it
 * should be; then the folder stays. The seed draws the requests, the operators' deeds and the kills; what the machine
 * makes of them is its own.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    cases: { type: 'string', default: 'all' },
    data: { type: 'string' },
  },
});
const MINUTES_MAX = 120;
/** What starting, the quiet time and the audit may take on top: past it the run has failed, and ends. */
const REST_MS_MAX = 8 * 60_000;

const minutes = Number(values.minutes);
if (!(minutes > 0 && minutes <= MINUTES_MAX))
  throw new RangeError(`--minutes: expected more than 0, up to ${MINUTES_MAX}`);
const seed = Number(values.seed);
if (!Number.isInteger(seed) || seed < 0 || seed > 2 ** 32 - 1) throw new RangeError('--seed: expected a whole number');
const cases = requestCases(casesFrom(values.cases));
const folder = values.data === undefined ? mkdtempSync(join(tmpdir(), 'gateway-soak-')) : resolve(values.data);
const replay = `npm run soak -- --minutes ${minutes} --seed ${seed} --cases ${values.cases}`;
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

// Ended from outside, it takes its processes along (child-process.ts).
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
const tooLong = setTimeout(
  () => {
    process.stderr.write(`the soak did not end in time; the folder stays: ${folder}\nagain: ${replay}\n`);
    process.exit(1);
  },
  minutes * 60_000 + REST_MS_MAX,
);
say(replay);
const broker = await startBroker();
if (broker === null) throw new Error('the soak needs a broker: install kcat, or name one in KAFKA_BROKERS');
try {
  const result = await soakRun({ folder, seed, seconds: minutes * 60, broker, cases, say });
  say(soakReport(result));
  if (result.audit.faults.length > 0) process.exitCode = 1;
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
} finally {
  await broker.stop();
}
clearTimeout(tooLong);
if (process.exitCode === 1) process.stderr.write(`\nthe folder stays: ${folder}\nagain: ${replay}\n`);
else if (values.data === undefined) rmSync(folder, { recursive: true, force: true });
// Whatever client library is still reconnecting somewhere does not keep the run.
process.exit();
