import { afterEach, expect, it } from 'vitest';
import { REQUEST_CASES } from '../crash/request-cases.ts';
import { runFolder } from '../fixtures/processes/run-folder.ts';
import { type Broker, startBroker } from '../kafka/start-broker.ts';
import { soakRun } from './soak-run.ts';
import { stormCells } from './storm-table.ts';
import { STORMS, type Troubles } from './troubles.ts';

const SECONDS = 10;
/** The storm of the event store, and a relay: others use the same broker, so nobody takes it away. */
const TROUBLES: Troubles = [...STORMS.eventstore.troubles, ['relay', 1]];
const REST_MS = [300, 1_500] as const;
const SEED = 20_261_121;
const RUN_MS_MAX = 900_000;

const broker: Broker | null = await startBroker();
afterEach(() => broker?.stop());

it.skipIf(broker === null)(
  'ledger, upstream, every proxy’s views and the topic agree after proxies, relay and event store were killed and paused',
  { timeout: RUN_MS_MAX },
  async () => {
    if (broker === null) return;
    const result = await soakRun({
      folder: runFolder(),
      seed: SEED,
      seconds: SECONDS,
      broker,
      cases: REQUEST_CASES,
      troubles: TROUBLES,
      restMs: REST_MS,
      say: () => {},
    });
    const { audit, kills, messages } = result;
    expect(audit.faults).toEqual([]);
    expect(stormCells('eventstore', result).filter(({ isRight }) => !isRight)).toEqual([]);
    // The run has met what it is for.
    expect(TROUBLES.filter(([kind]) => kills.count(kind) === 0)).toEqual([]);
    expect(audit.books.every(({ debits }) => debits.length > 0)).toBe(true);
    expect(audit.leases).toBeGreaterThan(0);
    expect(messages).toBe(audit.events + audit.topic.duplicates);
  },
);
