import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { isDockerThere } from '../compose/docker-engine.ts';
import { removeFolder } from '../crash/audit-run.ts';
import { REQUEST_CASES } from '../crash/request-cases.ts';
import { startEventStoreContainer } from '../eventstoredb/event-store-container.ts';
import { givenEventStore } from '../eventstoredb/given-event-store.ts';
import { killStarted } from '../fixtures/processes/child-process.ts';
import { startBroker } from '../kafka/start-broker.ts';
import type { StartedBrokers } from '../kafka/started-brokers.ts';
import { soakRun } from './soak-run.ts';
import { stormCells } from './storm-table.ts';
import { STORMS, type Troubles } from './troubles.ts';

const SECONDS = 10;
const TROUBLES: Troubles = [...STORMS.eventstore.troubles, ['relay', 1], ['paused relay', 1]];
const SEED = 20_261_123;
const RUN_MS_MAX = 900_000;

const started: Pick<StartedBrokers, 'stop'>[] = [];
let folder: string | null = null;
afterEach(async () => {
  killStarted();
  for (const container of started.splice(0)) await container.stop();
  if (folder !== null) removeFolder(folder);
  folder = null;
});

if (await isDockerThere())
  it('proxies and relays lose nothing in a storm on the event store and the Kafka of compose.yaml', {
    timeout: RUN_MS_MAX,
  }, async () => {
    const store = await startEventStoreContainer();
    started.push(store);
    const broker = await startBroker({ KAFKA_BROKERS: 'docker' });
    if (broker === null) throw new Error('no container of Kafka was started');
    started.push(broker);
    folder = mkdtempSync(join(tmpdir(), 'gateway-storm-'));
    const result = await soakRun({
      folder,
      seed: SEED,
      seconds: SECONDS,
      given: givenEventStore({ EVENTSTOREDB_URL: store.connectionString }),
      broker,
      cases: REQUEST_CASES,
      troubles: TROUBLES,
      say: () => {},
    });
    expect(result.audit.faults).toEqual([]);
    expect(stormCells('eventstore', result).filter(({ isRight }) => !isRight)).toEqual([]);
    expect(TROUBLES.filter(([kind]) => result.kills.count(kind) === 0)).toEqual([]);
    expect(result.messages).toBe(result.audit.events + result.audit.topic.duplicates);
  });
else it.skip('a storm on the images of compose.yaml is not tried: no Docker engine answers', () => undefined);
