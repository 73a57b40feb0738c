import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crashProviders } from '../crash/crash-catalog.ts';
import { RUN_DRAIN_MS } from '../crash/run-drain.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { TOPIC_PARTITIONS } from '../kafka/start-broker.ts';
import type { StoreOfRun } from './store-of-run.ts';

export interface SoakConfigurationParts {
  readonly folder: string;
  readonly catalogPath: string;
  readonly upstreamUrl: string;
  readonly eventLog: StoreOfRun['eventLog'];
  readonly brokers: readonly string[];
  readonly topic: string;
}

/**
 * A request ends soon, and so does a lease: 3 upstreams that fail just before their first byte, one that takes its whole
 * time, the drain and the slack make less than two minutes, after which what a lost proxy had leased is free again. None
 * of these times is ever up for an upstream that answers, also on a busy machine.
 */
const PROVIDER_TIMES = { connectMs: 4_000, firstByteMs: 16_000, idleMs: 16_000, totalMs: 20_000 };
const LEASE_SLACK_MS = 30_000;
export const SOAK_ENVIRONMENT = { SOAK_UPSTREAM_KEY: 'upstream-secret' };

/** Writes the configuration file of a process that has a data folder of its own; its path. */
export function writeSoakConfiguration(
  parts: SoakConfigurationParts,
  name: string,
  viewsFrom: 'log' | 'kafka',
): { readonly configPath: string; readonly data: string } {
  const { folder, catalogPath, upstreamUrl, eventLog, brokers, topic } = parts;
  const data = join(folder, name);
  const configPath = join(folder, `${name}.json`);
  const configuration = {
    listen: { host: '127.0.0.1', port: 0 },
    data,
    catalog: catalogPath,
    eventLog,
    kafka: { brokers, topic, partitions: TOPIC_PARTITIONS },
    projections: { source: viewsFrom },
    leases: { slackMs: LEASE_SLACK_MS },
    // What so short a slack covers.
    clock: { skewMs: 2_000 },
    // A request to count carries no script, so that this upstream could not say what it will report.
    providers: crashProviders(upstreamUrl, 'SOAK_UPSTREAM_KEY', { countTokens: false, ...PROVIDER_TIMES }),
    rateLimits: HIGH_LIMITS,
    drainMs: RUN_DRAIN_MS,
    logLevel: 'error',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return { configPath, data };
}
