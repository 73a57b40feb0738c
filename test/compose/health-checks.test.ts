import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { call } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { composeFile } from './compose-file.ts';

const { services }: { services: Readonly<Record<string, { healthcheck?: { test: readonly string[] } }>> } = parse(
  readFileSync(join(import.meta.dirname, '../../compose.yaml'), 'utf8'),
  { merge: true },
);
/** By service; none of what makes certificates and ends. */
const CHECKS = new Map(
  Object.entries(services).flatMap(([name, { healthcheck }]) =>
    healthcheck === undefined ? [] : [[name, healthcheck.test] as const],
  ),
);
const checkOf = (service: string): readonly string[] => CHECKS.get(service) ?? expect.fail(`${service} has none`);

/** The port that the gateway's configuration says, of a part of it. */
const portOf = (path: readonly string[]): unknown =>
  path.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], parse(composeFile('gateway.yaml')));

describe.each([
  ['gateway', '/readyz', ['listen', 'port']],
  ['relay', '/healthz', ['metrics', 'relay', 'port']],
] as const)('the health check of the %s', (service, path, port) => {
  it(`asks for ${path} where that is served, with the image's own Node, and ends with 0 for a 200 alone`, async () => {
    const [kind, program, ...args] = checkOf(service);
    expect([kind, program]).toEqual(['CMD', 'node']);
    const asked = `http://127.0.0.1:${portOf(port)}${path}`;
    expect(args).toEqual(['-e', expect.stringContaining(`fetch('${asked}')`)]);
    const gateway = await startTestGateway({ settings: { metrics: { serve: { port: 0 } } } });
    // Of a relay the same server answers on its port.
    const served = `${service === 'relay' ? gateway.gateway.metricsUrl : gateway.url}${path}`;
    expect((await call(served, '')).status).toBe(200);
    const check = (url: string): Promise<number> =>
      promisify(execFile)(
        process.execPath,
        args.map((word) => word.replace(asked, url)),
      ).then(
        () => 0,
        ({ code }) => code,
      );
    expect([await check(served), await check(`${served}/none`)]).toEqual([0, 1]);
    await gateway.stop();
    expect(await check(served)).toBe(1);
  });
});

/** A program that the image has by its own Dockerfile (busybox's in the last two), and what its product documents to be asked. */
it.each([
  ['eventstoredb', 'curl --fail --silent http://localhost:2113/health/live'],
  ['eventstoredb-1', 'curl --fail --silent --insecure https://localhost:2113/health/live'],
  ['eventstoredb-2', 'curl --fail --silent --insecure https://localhost:2113/health/live'],
  ['eventstoredb-3', 'curl --fail --silent --insecure https://localhost:2113/health/live'],
  ['kafka', '/opt/kafka/bin/kafka-broker-api-versions.sh --bootstrap-server localhost:9092 > /dev/null'],
  ['prometheus', 'wget --quiet --spider http://localhost:9090/-/ready'],
  ['grafana', 'wget --quiet --spider http://localhost:3000/api/health'],
])('the health check of %s is one that its image can make: %s', (service, command) => {
  const [kind, ...words] = checkOf(service);
  // A shell is asked for what is one text.
  expect([kind, words.join(' ')]).toEqual([words.length === 1 ? 'CMD-SHELL' : 'CMD', command]);
});

it('each service that stays up is among them', () => {
  const ends = Object.keys(services).filter((name) => !CHECKS.has(name));
  expect(ends).toEqual(['eventstoredb-certificates']);
  expect(CHECKS.size).toBe(9);
});
