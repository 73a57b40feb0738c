import { expect, it } from 'vitest';
import { runFolder } from '../fixtures/processes/run-folder.ts';
import { outageRun } from './outage-run.ts';

const SECONDS = 4;
/** Requests that end in each half of it, at least. */
const REQUESTS = 80;
const SERVED_MIN = 10;
const RUN_MS_MAX = 600_000;

it(`serves through ${SECONDS} s without its log and a kill -9 in them, tells of it, and bills every request once`, {
  timeout: RUN_MS_MAX,
}, async () => {
  const result = await outageRun({
    folder: runFolder(),
    seed: 20_261_121,
    seconds: SECONDS,
    requestsMin: REQUESTS,
    restart: true,
  });
  expect(result.faults).toEqual([]);
  // As many as its leases last for, which end by the clock: how many that is depends on the machine.
  expect(result.servedDuring).toBeGreaterThan(SERVED_MIN);
  // Started without its log it has no claim on its name, and so no lease.
  expect(result.refusedDuring).toBeGreaterThan(0);
  expect(result.pendingAtEnd).toBeGreaterThan(0);
  const degraded = expect.stringMatching(
    /^the event log has been away for \d+ s; .* usage waits in the journal; this gateway could not yet claim its name in the event log$/,
  );
  expect(result.told).toMatchObject({
    ready: { httpStatus: 200, body: { ok: true, degraded } },
    status: { httpStatus: 200, body: { ok: true, degraded } },
    logUp: 0,
  });
  expect(result.toldAfter).toEqual({ httpStatus: 200, body: { ok: true } });
});
