import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RelayMetrics } from '../../ledger/relay/relay-metrics.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { POM } from '../kafka/fetched-kafka.ts';
import { composeImage } from './compose-image.ts';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly healthcheck?: unknown;
  readonly profiles?: readonly string[];
  readonly build?: { readonly dockerfile_inline: string };
}

const FILE = new URL('../../compose.yaml', import.meta.url).pathname;
const compose: {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
} = parse(readFileSync(FILE, 'utf8'), { merge: true });

const hasPlugin = spawnSync('docker', ['compose', 'version']).status === 0;
if (!hasPlugin) console.info('skipped: docker compose config (the compose plugin is not installed)');

describe('compose.yaml', () => {
  it.skipIf(!hasPlugin).each([[[]], [['--profile', 'metrics']], [['--profile', 'cluster']]])(
    'is accepted by docker compose config %j',
    (profiles) => {
      const run = spawnSync('docker', ['compose', '--file', FILE, ...profiles, 'config', '--quiet'], {
        encoding: 'utf8',
      });
      expect([run.status, run.stderr]).toEqual([0, '']);
    },
  );

  it('brings event log, Kafka, gateway and relay by default, and what watches them in a profile of its own', () => {
    const always = Object.keys(compose.services).filter((name) => compose.services[name]?.profiles === undefined);
    expect(always.sort()).toEqual(['eventstoredb', 'gateway', 'kafka', 'relay']);
    expect(compose.services.prometheus?.profiles).toEqual(['metrics']);
    expect(compose.services.grafana?.profiles).toEqual(['metrics']);
  });

  it('gives each service that stays up a health check, a fixed image and named volumes alone', () => {
    for (const [name, { image, healthcheck, volumes = [] }] of Object.entries(compose.services)) {
      if (name !== 'eventstoredb-certificates') expect([name, healthcheck]).toEqual([name, expect.anything()]);
      expect(image).toMatch(/^(model-gateway|[a-z/-]+:[0-9v][0-9.]*)$/);
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    }
  });

  it('runs the Kafka that the tests run, fetched and in a container', () => {
    const pom = readFileSync(POM, 'utf8');
    const [, version] = /<artifactId>kafka_2\.13<\/artifactId><version>([\d.]+)</.exec(pom) ?? [];
    expect(composeImage('kafka')).toBe(`apache/kafka:${version}`);
  });

  it('runs the gateway as a user who is not root', () => {
    const lines = compose.services.gateway?.build?.dockerfile_inline.trim().split('\n') ?? [];
    const users = lines.filter((line) => line.startsWith('USER '));
    expect(users).toEqual(['USER node']);
    expect(lines.findIndex((line) => line.startsWith('ENTRYPOINT '))).toBeGreaterThan(lines.indexOf('USER node'));
  });

  it('has a configuration that the gateway accepts, with the example catalog', () => {
    const file = join(temporaryFolder(), 'gateway.yaml');
    writeFileSync(file, compose.configs['gateway.yaml']?.content ?? '');
    const environment = { EVENTSTOREDB_URL: 'esdb://eventstoredb:2113?tls=false' };
    const configuration = readConfiguration({ file, environment, callsProviders: true });
    expect(configuration).toMatchObject({
      data: '/data',
      proxies: 'many',
      eventLog: { kind: 'eventstoredb', connectionString: 'esdb://eventstoredb:2113?tls=false' },
      catalog: '/app/contracts/example-catalog.yaml',
      kafka: { brokers: ['kafka:9092'], topic: 'ledger' },
    });
    expect(configuration.metrics.relay?.port).toBe(9464);
  });

  it('asks for metrics that there are, and so does the README', async () => {
    const registry = new Registry();
    new RelayMetrics(registry, Date.now);
    const gateway = await startTestGateway({ settings: { metrics: { serve: { port: 0 } } } });
    const told = await (await fetch(`${gateway.gateway.metricsUrl}/metrics`)).text();
    await gateway.stop();
    const there = new Set(
      `${told}${await registry.metrics()}`.match(/^# HELP gateway_\w+/gm)?.map((line) => line.slice(7)),
    );
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const asked = `${readFileSync(FILE, 'utf8')}${readme}`.match(/\bgateway_(?!overloaded)\w+/g) ?? [];
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter((name) => !there.has(name))).toEqual([]);
  });

  it('watches metrics whose dashboard is well formed', () => {
    const dashboard: { panels: { targets: { expr: string }[] }[] } = JSON.parse(
      compose.configs['grafana-dashboard.json']?.content ?? '',
    );
    const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(asked).toHaveLength(6);
    for (const expression of asked) expect(expression).toMatch(/gateway_[a-z_]+/);
    for (const name of ['prometheus.yaml', 'alerts.yaml', 'grafana-datasource.yaml', 'grafana-dashboards.yaml'])
      expect(parse(compose.configs[name]?.content ?? '')).toEqual(expect.any(Object));
  });
});
