import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RelayMetrics } from '../../ledger/relay/relay-metrics.ts';
import { keyOfFile } from '../../ledger/seals/seal-keys.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { POM } from '../kafka/fetched-kafka.ts';
import { fetchedClient } from '../sdks/fetched-clients.ts';
import { composeFile, composePath } from './compose-file.ts';
import { composeImage } from './compose-image.ts';
import { RULES } from './promtool.ts';

interface Service {
  readonly image?: string;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly secrets?: readonly string[];
  readonly configs?: readonly { readonly source: string }[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: unknown;
  readonly profiles?: readonly string[];
  readonly build?: { readonly dockerfile_inline: string };
}

const ROOT = new URL('../../', import.meta.url).pathname;
const FILE = join(ROOT, 'compose.yaml');
const compose: {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly file: string }>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
  readonly volumes: Readonly<Record<string, unknown>>;
} = parse(readFileSync(FILE, 'utf8'), { merge: true });
const SERVICES = Object.entries(compose.services);
/** It makes certificates and ends. */
const ENDS = 'eventstoredb-certificates';

const loader = fetchedClient('compose');
if (loader === null)
  console.info('skipped: what docker compose makes of compose.yaml (npm run clients fetches its loader)');

it('no runbook asks for what cannot be run: in the container of a gateway that may be gone, or on a port of the machine twice', () => {
  for (const alert of ['GatewayDown', 'Unhealthy'])
    expect(RULES.find((rule) => rule.alert === alert)?.annotations.runbook).toMatch(
      /^(?!.*(?:`gateway |exec gateway)).*gateway doctor/,
    );
  const scaled = RULES.flatMap(({ annotations }) => [...annotations.runbook.matchAll(/--scale ([\w-]+)=/g)]);
  for (const [, service = ''] of scaled)
    expect([service, compose.services[service]?.ports]).toEqual([service, undefined]);
});

describe('compose.yaml', () => {
  it.skipIf(loader === null).each([
    [[], 4],
    [['metrics'], 6],
    [['cluster'], 8],
  ] as const)('is what docker compose takes, with the profiles %j', (profiles, services) => {
    const run = spawnSync(join(loader ?? '', 'load'), [FILE, ...profiles], {
      encoding: 'utf8',
      cwd: temporaryFolder(),
    });
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(Object.keys(JSON.parse(run.stdout).services)).toHaveLength(services);
  });

  it('brings event log, Kafka, gateway and relay by default, and what watches them in a profile of its own', () => {
    const always = Object.keys(compose.services).filter((name) => compose.services[name]?.profiles === undefined);
    expect(always.sort()).toEqual(['eventstoredb', 'gateway', 'kafka', 'relay']);
    expect(compose.services.prometheus?.profiles).toEqual(['metrics']);
    expect(compose.services.grafana?.profiles).toEqual(['metrics']);
  });

  it.each(SERVICES)(
    '%s can write to its volumes alone, gain no right, and take no more than its part',
    (name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        pids_limit: expect.any(Number),
        cpus: expect.any(Number),
      });
      expect(service).not.toHaveProperty('privileged');
      if (name === ENDS) expect(service).toMatchObject({ network_mode: 'none' });
      else expect(service).not.toHaveProperty('cap_add');
    },
  );

  it.each(SERVICES)(
    '%s has an exact version, named volumes and, where it stays up, a health check',
    (name, service) => {
      expect(service.image).toMatch(/^[a-z/-]+:v?\d+\.\d+\.\d+$/);
      if (name !== ENDS) expect(service.healthcheck).toEqual(expect.anything());
      for (const volume of service.volumes ?? []) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    },
  );

  it('runs this version of the gateway, on the Node of the tests', () => {
    const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(composeImage('gateway')).toBe(`model-gateway:${version}`);
    const [from] = compose.services.gateway?.build?.dockerfile_inline.match(/^FROM .*$/m) ?? [];
    expect(from).toBe(`FROM node:${dependencies.node}-slim`);
  });

  it('has ports for the gateway and for Grafana alone, on this machine alone', () => {
    const ports = SERVICES.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
    expect(ports).toEqual([
      ['gateway', '127.0.0.1:8787:8787'],
      ['grafana', '127.0.0.1:3000:3000'],
    ]);
  });

  it('lets nobody reach event log, Kafka and metrics but who works with them', () => {
    const inside = (network: string) =>
      SERVICES.filter(([, { networks }]) => networks?.includes(network)).map(([name]) => name);
    for (const network of ['ledger', 'metrics', 'dashboards']) expect(compose.networks[network]?.internal).toBe(true);
    const stores = ['eventstoredb', 'eventstoredb-1', 'eventstoredb-2', 'eventstoredb-3', 'kafka'];
    expect(inside('ledger').sort()).toEqual([...stores, 'gateway', 'relay'].sort());
    expect(inside('metrics')).toEqual(['gateway', 'relay', 'prometheus']);
    expect(inside('dashboards')).toEqual(['prometheus', 'grafana']);
    expect([inside('outside'), inside('outside-dashboards')]).toEqual([['gateway'], ['grafana']]);
    // Without a network a service would be in one with all others that have none.
    for (const [name, { networks }] of SERVICES)
      if (name !== ENDS) expect([name, networks]).toEqual([name, expect.anything()]);
  });

  it('leaves the private key of the CA with what makes certificates, and to each node its own alone', () => {
    const mounts = SERVICES.flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume) => /certificate/.test(volume)).map((volume) => `${name} ${volume}`),
    );
    const node = (number: number) => [
      `eventstoredb-${number} ca-certificate:/certs/ca:ro`,
      `eventstoredb-${number} eventstoredb-${number}-certificate:/certs/node:ro`,
    ];
    expect(mounts.filter((mount) => !mount.startsWith(ENDS)).sort()).toEqual(
      [...[1, 2, 3].flatMap(node), 'gateway ca-certificate:/certs:ro', 'relay ca-certificate:/certs:ro'].sort(),
    );
    expect(mounts.filter((mount) => mount.includes('certificate-authority'))).toEqual([
      `${ENDS} certificate-authority:/authority`,
    ]);
  });

  it('gives secrets as files, each to who needs it, and has no password of its own', () => {
    const given = SERVICES.flatMap(([name, { secrets = [] }]) => secrets.map((secret) => `${name} ${secret}`));
    expect(given.sort()).toEqual([
      'gateway event-log',
      'gateway seal-key',
      'grafana grafana-password',
      'relay event-log',
    ]);
    expect(compose.services.grafana?.environment).toMatchObject({
      GF_SECURITY_ADMIN_PASSWORD__FILE: '/run/secrets/grafana-password',
    });
    for (const [, { environment = {} }] of SERVICES)
      for (const [name, value] of Object.entries(environment))
        expect(`${name}=${value}`).not.toMatch(/ANONYMOUS|PASSWORD=|TOKEN|SECRET=|:\/\/[^/]*@/);
  });

  // A service that is read-only takes no other: docker compose refuses to start it.
  it('has its configurations and secrets in files, and each is there or made by make-secrets.sh', () => {
    const asked = SERVICES.flatMap(([, { configs = [] }]) => configs.map(({ source }) => source));
    expect([...new Set(asked)].sort()).toEqual(Object.keys(compose.configs).sort());
    for (const { file } of Object.values(compose.configs)) expect(existsSync(join(ROOT, file))).toBe(true);
    for (const [name, secret] of Object.entries(compose.secrets))
      expect(secret).toEqual({ file: `.compose/secrets/${name}` });
    expect(readFileSync(join(ROOT, '.gitignore'), 'utf8')).toMatch(/^\.compose\/secrets\/$/m);
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

  it('has a configuration that the gateway accepts, with the example catalog and the secrets that are made once', () => {
    const secrets = join(temporaryFolder(), 'secrets');
    const make = () => spawnSync('sh', [composePath('make-secrets.sh'), secrets], { encoding: 'utf8' });
    const made = make();
    expect([made.status, made.stderr, made.stdout.split('\n')]).toEqual([
      0,
      '',
      expect.objectContaining({ length: 4 }),
    ]);
    const read = () => Object.keys(compose.secrets).map((name) => readFileSync(join(secrets, name), 'utf8'));
    const first = read();
    expect([make().stdout, read()]).toEqual(['', first]);
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    for (const name of Object.keys(compose.secrets)) expect(statSync(join(secrets, name)).mode & 0o777).toBe(0o444);
    expect(readFileSync(join(secrets, 'grafana-password'), 'utf8')).toMatch(/^[0-9a-f]{48}\n$/);

    const file = join(temporaryFolder(), 'gateway.yaml');
    writeFileSync(file, composeFile('gateway.yaml').replaceAll('/run/secrets', secrets));
    const configuration = readConfiguration({ file, environment: {}, callsProviders: true });
    expect(configuration).toMatchObject({
      data: '/data',
      proxies: 'many',
      eventLog: { kind: 'eventstoredb', connectionString: 'esdb://eventstoredb:2113?tls=false' },
      catalog: '/app/contracts/example-catalog.yaml',
      kafka: { brokers: ['kafka:9092'], topic: 'ledger' },
      seals: { key: { type: 'file', file: join(secrets, 'seal-key') } },
    });
    expect(keyOfFile(join(secrets, 'seal-key')).publicKey).toMatch(/=$/);
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
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const asked = [readme, composeFile('alerts.yaml'), composeFile('grafana-dashboard.json')]
      .join('\n')
      .match(/\bgateway_(?!overloaded)\w+/g)
      ?.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    expect(asked?.length).toBeGreaterThan(10);
    expect(asked?.filter((name) => !there.has(name))).toEqual([]);
  });

  it.each(Object.keys(compose.configs))('mounts %s, which is well formed', (name) => {
    expect(parse(composeFile(name))).toEqual(expect.any(Object));
  });
});
