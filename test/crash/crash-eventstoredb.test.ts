import { expect, it } from 'vitest';
import { runFolder } from '../fixtures/processes/run-folder.ts';
import { crashRun } from './crash-run.ts';
import { REQUEST_CASES } from './request-cases.ts';

const KILLS = 3;
// What operators do meanwhile is in the run over the embedded log, and in the long runs: over this store it takes minutes.
const CASES = REQUEST_CASES;
const SEED = 20_261_122;
const RUN_MS_MAX = 600_000;

it(`records each request once through ${KILLS} kills while an event store loses acknowledgements and connections`, {
  timeout: RUN_MS_MAX,
}, async () => {
  const audit = await crashRun({
    folder: runFolder(),
    seed: SEED,
    kills: KILLS,
    secondsBetween: 1,
    servedMin: 110,
    cases: CASES,
    log: 'eventstoredb',
  });
  expect(audit.faults).toEqual([]);
  // The run has met what it is for.
  const struck = (...kinds: readonly string[]): number =>
    kinds.reduce((sum, kind) => sum + (audit.struck[kind] ?? 0), 0);
  expect(struck('append lose-ack', 'append lose-ack-cancelled', 'append store-and-cut')).toBeGreaterThan(5);
  expect(struck('connections cut')).toBeGreaterThan(2);
  expect(audit.debits).toBeGreaterThan(100);
});
