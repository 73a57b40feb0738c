import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { removeFolder } from '../crash/audit-run.ts';
import { killStarted } from '../crash/child-process.ts';
import { REQUEST_CASES } from '../crash/planned-cases.ts';
import { type Broker, startBroker } from '../kafka/start-broker.ts';
import { soakRun } from './soak-run.ts';

const SECONDS = 15;
const SEED = 20_261_121;
const RUN_MS_MAX = 900_000;

const broker: Broker | null = await startBroker();
let folder: string | null = null;
afterEach(async () => {
  killStarted();
  await broker?.stop();
  if (folder !== null) removeFolder(folder);
  folder = null;
});

it.skipIf(broker === null)(
  'ledger, upstream, every proxy’s views and the topic agree after a few kills of proxies, relay and event store',
  { timeout: RUN_MS_MAX },
  async () => {
    if (broker === null) return;
    folder = mkdtempSync(join(tmpdir(), 'gateway-soak-'));
    const { audit, kills, messages } = await soakRun({
      folder,
      seed: SEED,
      seconds: SECONDS,
      broker,
      cases: REQUEST_CASES,
      say: () => {},
    });
    expect(audit.faults).toEqual([]);
    // The run has met what it is for.
    expect(kills.count).toBeGreaterThan(1);
    expect(audit.books.every(({ debits }) => debits.length > 0)).toBe(true);
    expect(audit.leases).toBeGreaterThan(0);
    expect(messages).toBe(audit.events + audit.duplicates);
  },
);
