import { expect, it } from 'vitest';
import { runFolder } from '../fixtures/processes/run-folder.ts';
import { crashRun } from './crash-run.ts';
import { REQUEST_CASES } from './request-cases.ts';

const KILLS = 5;
const CASES = [...REQUEST_CASES, 'meanwhile'] as const;
const SEED = 20_261_121;
const RUN_MS_MAX = 600_000;

it(`loses nothing, charges nothing twice and rebuilds the same views through ${KILLS} kills under load`, {
  timeout: RUN_MS_MAX,
}, async () => {
  const audit = await crashRun({
    folder: runFolder(),
    seed: SEED,
    kills: KILLS,
    secondsBetween: 0.4,
    servedMin: 110,
    cases: CASES,
    log: 'sqlite',
  });
  expect(audit.faults).toEqual([]);
  // The run has met what it is for: requests whose gateway died, and debits among all ways to end.
  expect(audit.outcomes.recovered).toBeGreaterThan(0);
  expect(audit.outcomes).toMatchObject({
    completed: expect.any(Number),
    client_disconnected: expect.any(Number),
    upstream_interrupted: expect.any(Number),
    upstream_refused: expect.any(Number),
  });
  expect(audit.debits).toBeGreaterThan(100);
});
