import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Configuration } from '../../../../contracts/configuration.ts';
import { LIMITS } from '../../../../contracts/limits.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { faultsOf } from '../../../fixtures/faults-of.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const folder = temporaryFolder();

const provider = { protocol: 'messages', baseUrl: 'http://127.0.0.1:9', apiKeyEnv: 'UPSTREAM_KEY' };
const SECRET = 'upstream-credential';
const NUL = 'holds a NUL character, which no path or argument can have';

function fileOf(text: string): string {
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, text);
  return file;
}
const read = (
  settings: unknown,
  environment: Record<string, string> = { UPSTREAM_KEY: SECRET },
  callsProviders = true,
): Configuration => readConfiguration({ file: fileOf(stringify(settings)), environment, callsProviders });

describe('a configuration', () => {
  test('has a default for everything', () => {
    const configuration = readConfiguration({ file: null, environment: {}, callsProviders: true });
    expect(configuration).toMatchObject({
      file: null,
      listen: { host: '127.0.0.1', port: 8787 },
      eventLog: { kind: 'sqlite' },
      providers: {},
      trialUsd: 5_000_000n,
      chargeInterrupted: 'none',
      unknownBetas: 'drop',
      browserOrigins: [],
      accessLog: 'stdout',
      logLevel: 'info',
      rateLimits: {
        paid: { requestsPerMinute: 12_000, concurrentCounts: 64 },
        unpaid: { requestsPerMinute: 60, concurrentRequests: 16 },
        plans: {},
        keyPercent: 80,
        proxies: 1,
      },
      data: resolve('.data'),
    });
    expect(configuration).not.toHaveProperty('catalog');
  });

  test('may be an empty file', () => {
    expect(readConfiguration({ file: fileOf(''), environment: {}, callsProviders: true }).listen.port).toBe(8787);
  });

  test('may be JSON', () => {
    const file = fileOf(JSON.stringify({ listen: { port: 0 }, trialUsd: '0.000001' }));
    expect(readConfiguration({ file, environment: {}, callsProviders: true })).toMatchObject({
      listen: { port: 0 },
      trialUsd: 1n,
    });
  });

  test('takes paths relative to its own file, not to the working directory', () => {
    expect(read({ data: 'ledger', catalog: '../models.yaml' })).toMatchObject({
      data: join(folder, 'ledger'),
      catalog: resolve(folder, '../models.yaml'),
    });
    expect(read({ data: '/var/lib/gateway' }).data).toBe('/var/lib/gateway');
  });

  test('takes a data folder that is given beside it before its own, relative to the working directory', () => {
    const file = fileOf('data: ledger');
    expect(readConfiguration({ file, data: 'elsewhere', environment: {}, callsProviders: true }).data).toBe(
      resolve('elsewhere'),
    );
  });

  test('takes origins as browsers say them', () => {
    const browserOrigins = ['https://app.example', 'http://localhost:3000', '*'];
    expect(read({ browserOrigins }).browserOrigins).toEqual(browserOrigins);
    for (const wrong of ['app.example', 'https://app.example/', 'https://app.example/path', 'null'])
      expect(faultsOf(() => read({ browserOrigins: [wrong] })).join()).toMatch(
        /^browserOrigins\.0.*expected an origin/,
      );
  });

  test('is frozen, all the way down', () => {
    const configuration = read({ providers: { main: provider } });
    const open: string[] = [];
    const walk = (value: unknown, path: string): void => {
      if (value === null || typeof value !== 'object') return;
      if (!Object.isFrozen(value)) open.push(path);
      for (const [name, inner] of Object.entries(value)) walk(inner, `${path}.${name}`);
    };
    walk(configuration, 'configuration');
    expect(open).toEqual([]);
    expect(() => Object.assign(configuration.listen, { port: 1 })).toThrow(TypeError);
  });
});

describe('the credential of a provider', () => {
  test('comes from the environment', () => {
    expect(read({ providers: { main: provider } }).providers.main).toMatchObject({
      apiKey: SECRET,
      apiKeyPlace: 'UPSTREAM_KEY',
      auth: 'x-api-key',
      countTokens: true,
      onClientDisconnect: 'drain',
    });
  });

  test('is not told where it stands itself in place of its variable’s name', () => {
    const pasted = { ...provider, apiKeyEnv: SECRET.replaceAll('-', '_') };
    expect(faultsOf(() => read({ providers: { main: pasted } }))).toEqual([
      'providers.main.apiKeyEnv: no environment variable has the name that stands there; a secret itself does not belong there',
    ]);
  });

  test.each([{}, { UPSTREAM_KEY: '' }])('must be set: %j', (environment) => {
    expect(faultsOf(() => read({ providers: { main: provider } }, environment))).toEqual([
      'providers.main.apiKeyEnv: the environment variable UPSTREAM_KEY is not set',
    ]);
  });

  test.each([
    [`${SECRET}\n`, 'a line end', SECRET.length + 1],
    [`${SECRET}\r\n`, 'a line end', SECRET.length + 1],
    ['sk-\nsecret', 'a line end', 4],
    [' sk-secret', 'a blank or a control character', 1],
    ['sk-secret\t', 'a blank or a control character', 10],
    ['sk\u0000secret', 'a blank or a control character', 3],
  ])('with %j in it is told by its variable, and not shown', (key, what, at) => {
    expect(faultsOf(() => read({ providers: { main: provider } }, { UPSTREAM_KEY: key }))).toEqual([
      `providers.main.apiKeyEnv: the environment variable UPSTREAM_KEY holds ${what} at character ${at} of ${key.length}; take it out`,
    ]);
  });

  test('is not needed by a command that calls no provider', () => {
    expect(read({ providers: { main: provider } }, {}, false).providers.main?.apiKey).toBe('');
  });

  test('is missing for each provider at once', () => {
    const second = { ...provider, apiKeyEnv: 'OTHER_KEY' };
    expect(faultsOf(() => read({ providers: { main: provider, spare: second } }, {}))).toEqual([
      'providers.main.apiKeyEnv: the environment variable UPSTREAM_KEY is not set',
      'providers.spare.apiKeyEnv: the environment variable OTHER_KEY is not set',
    ]);
  });

  test("comes from a file beside the configuration, whose last line end is the editor's, in place of a variable", () => {
    const { apiKeyEnv: _, ...other } = provider;
    writeFileSync(join(folder, 'key'), `${SECRET}\n`);
    const main = { ...other, apiKeyFile: 'key' };
    expect(read({ providers: { main } }, {}).providers.main).toMatchObject({
      apiKey: SECRET,
      apiKeyPlace: join(folder, 'key'),
    });
    expect(read({ providers: { main: { ...other, apiKeyFile: 'nowhere' } } }, {}, false).providers.main?.apiKey).toBe(
      '',
    );
    const either = 'providers.main: needs either apiKeyEnv or apiKeyFile';
    expect(faultsOf(() => read({ providers: { main: other } }))).toEqual([either]);
    expect(faultsOf(() => read({ providers: { main: { ...main, ...provider } } }))).toEqual([either]);
    expect(faultsOf(() => read({ providers: { main: { ...other, apiKeyFile: 'nowhere' } } }))).toEqual([
      expect.stringMatching(/^providers\.main\.apiKeyFile: .*nowhere does not exist/),
    ]);
  });

  test('has no place in the file, and a fault does not repeat it', () => {
    const faults = faultsOf(() => read({ providers: { main: { ...provider, apiKey: SECRET } } }));
    const meant = 'providers.main.apiKeyEnv or providers.main.apiKeyFile';
    expect(faults).toEqual([`providers.main: has no setting named "apiKey" (is ${meant} meant?)`]);
  });
});

describe('the connection string of the event log', () => {
  const log = (places: object) => ({ eventLog: { kind: 'eventstoredb', ...places } });
  const URL = 'esdb://user:secret@a:2113?tls=true';

  test('stands in the configuration, in a variable or in a file', () => {
    writeFileSync(join(folder, 'event-log'), `${URL}\n`);
    for (const place of [
      { connectionString: URL },
      { connectionStringEnv: 'LOG_URL' },
      { connectionStringFile: 'event-log' },
    ])
      expect(read(log(place), { LOG_URL: URL }, false).eventLog).toMatchObject({ connectionString: URL });
  });

  test('stands in one place', () => {
    const one = 'eventLog: needs one of connectionString, connectionStringEnv and connectionStringFile';
    for (const places of [{}, { connectionString: URL, connectionStringFile: 'event-log' }])
      expect(faultsOf(() => read(log(places)))).toEqual([one]);
    expect(faultsOf(() => read(log({ connectionStringFile: 'nowhere' })))).toEqual([
      expect.stringMatching(/^eventLog\.connectionStringFile: .*nowhere does not exist/),
    ]);
  });

  test.each([
    [
      'connectionStringFile: esdb://a:secret@b',
      'eventLog.connectionStringFile: expected a file that has the connection',
    ],
    ['{ connectionString:esdb://a:secret@b }', 'eventLog: has no setting named "connectionString:…"'],
  ])('is not told where it stands in the wrong place: %s', (settings, fault) => {
    const file = fileOf(
      `eventLog:\n  ${settings.replace(/^(?=c)/, 'kind: eventstoredb\n  ').replace('{', '{ kind: eventstoredb,')}`,
    );
    const faults = faultsOf(() => readConfiguration({ file, environment: {}, callsProviders: true }));
    expect(faults).toEqual([expect.stringContaining(fault)]);
    expect(faults.join()).not.toContain('secret');
  });
});

describe('the slack of leases', () => {
  const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://a:2113' };
  const faultOf = (slackMs: number): string =>
    `leases.slackMs: ${slackMs} does not cover what the clocks of two proxies may differ by: it must be above 12000, which is 4 times clock.skewMs and clock.jumpMs together (1000 + 2000)`;
  const settings = (slackMs: number) => ({ leases: { slackMs }, clock: { skewMs: 1_000, jumpMs: 2_000 } });

  test('covers what two clocks may differ by, where the log is on another machine', () => {
    expect(faultsOf(() => read({ eventLog, ...settings(12_000) }))).toEqual([faultOf(12_000)]);
    expect(read({ eventLog, ...settings(12_001) })).toMatchObject({ proxies: 'many' });
  });

  test('need not where there is one proxy, or one machine', () => {
    expect(read({ eventLog, proxies: 'one', ...settings(1) })).toMatchObject({ proxies: 'one' });
    expect(read({ proxies: 'many', ...settings(1) })).toMatchObject({ eventLog: { kind: 'sqlite' } });
  });

  test('does so by default, and where the skew alone is raised too far it is told', () => {
    expect(read({ eventLog })).toMatchObject({ leases: { slackMs: LIMITS.leaseSlackMs } });
    expect(faultsOf(() => read({ eventLog, clock: { skewMs: 300_000 } }))).toHaveLength(1);
  });
});

const MIB = 1024 ** 2;

describe('what one of many may have', () => {
  const partsOf = (settings: object) => {
    const { connections, bodies, drainsMaxPerAccount, rateLimits } = read(settings);
    const { concurrentStreams } = rateLimits.paid;
    return {
      address: connections.perAddress,
      MiB: bodies.maxBytesPerAccount / MIB,
      drains: drainsMaxPerAccount,
      concurrentStreams,
    };
  };
  const usual = { address: 500, MiB: 128, drains: 250, concurrentStreams: 1_000 };
  const wholes = (max: number, maxBytes: number) => ({
    connections: { max },
    bodies: { maxBytes },
    drainsMax: max,
    rateLimits: { paid: { concurrentRequests: max } },
  });

  test('is the usual where nothing is said, and where only the whole is raised', () => {
    expect(partsOf({})).toEqual(usual);
    expect(partsOf(wholes(20_000, 4_096 * MIB))).toEqual(usual);
  });

  test('follows a whole that is lowered', () => {
    expect(partsOf(wholes(101, 256 * MIB))).toEqual({ address: 26, MiB: 64, drains: 26, concurrentStreams: 101 });
    expect(partsOf(wholes(1, 32 * MIB))).toEqual({ address: 1, MiB: 32, drains: 1, concurrentStreams: 1 });
    expect(partsOf({ drainsMax: 0 })).toEqual({ ...usual, drains: 0 });
  });

  test('is what is said, up to the whole', () => {
    const said = { connections: { max: 9, perAddress: 9 }, drainsMax: 3, drainsMaxPerAccount: 2 };
    expect(partsOf(said)).toEqual({ ...usual, address: 9, drains: 2 });
  });
});

describe('a fault', () => {
  test.each([
    [{ listen: { port: 70_000 } }, 'listen.port: must be at most 65535'],
    [{ listen: { port: '8787' } }, 'listen.port: expected a number'],
    [{ listen: { hots: 'x' } }, 'listen: has no setting named "hots" (is listen.host meant?)'],
    [{ listne: {} }, 'has no setting named "listne" (is listen meant?)'],
    [{ port: 8080 }, 'has no setting named "port" (is listen.port meant?)'],
    [{ metrics: { port: 1 } }, 'metrics: has no setting named "port" (is metrics.serve.port meant?)'],
    [{ baseUrl: 'x' }, 'has no setting named "baseUrl" (is providers.NAME.baseUrl meant?)'],
    [{ data: '' }, 'data: must not be empty'],
    [{ eventLog: { kind: 'kafka' } }, 'eventLog.kind: expected "sqlite" or "eventstoredb"'],
    [
      { kafka: { brokers: ['a:9092'], replicationFactor: 2, minInsyncReplicas: 3 } },
      'kafka.minInsyncReplicas: is more than kafka.replicationFactor, so that nothing could be written',
    ],
    [
      { kafka: { brokers: ['a:9092'], doubtfulTopic: 'ignore' } },
      'kafka.doubtfulTopic: expected one of "warn", "refuse"',
    ],
    [{ trialUsd: 5 }, 'trialUsd: expected a string'],
    [{ trialUsd: '5 USD' }, 'trialUsd: expected USD as a string such as "5.00"'],
    [{ chargeInterrupted: 'all' }, 'chargeInterrupted: expected one of "none", "reported"'],
    [{ drainMs: 0 }, 'drainMs: must be at least 1'],
    [{ leases: { reclaimMs: 0 } }, 'leases.reclaimMs: must be at least 1'],
    [{ leases: { waitMs: 60_001 } }, 'leases.waitMs: must be at most 60000'],
    [{ autoReload: { waitMs: 120_001 } }, 'autoReload.waitMs: must be at most 120000'],
    [{ drainMs: 120_001 }, 'drainMs: must be at most 120000'],
    [{ logLevel: 'loud' }, 'logLevel: expected one of "fatal", "error", "warn", "info", "debug", "trace", "silent"'],
    [{ providers: { main: { ...provider, protocol: 'chat' } } }, 'providers.main.protocol: expected "messages"'],
    [
      { providers: { main: { ...provider, baseUrl: 'ftp://x' } } },
      'providers.main.baseUrl: expected an http or https URL',
    ],
    [
      { providers: { main: { ...provider, apiKeyEnv: 'sk-123' } } },
      'providers.main.apiKeyEnv: expected the name of an environment variable',
    ],
    [{ providers: { main: { ...provider, idleMs: 1.5 } } }, 'providers.main.idleMs: expected a whole number'],
    [{ rateLimits: { unpaid: { requestsPerMinute: 0 } } }, 'rateLimits.unpaid.requestsPerMinute: must be at least 1'],
    [{ rateLimits: { plans: { team: { rpm: 1 } } } }, 'rateLimits.plans.team: has no setting named "rpm"'],
    [
      { rateLimits: { plans: { trial: {} } } },
      'rateLimits.plans.trial: is what accounts are called that have no plan, whether or not they have paid; say paid or unpaid',
    ],
    [
      { bodies: { maxBytes: 64 * MIB, maxBytesPerAccount: 64 * MIB + 1 } },
      `bodies.maxBytesPerAccount: is more than maxBytes, which is ${64 * MIB}`,
    ],
    [{ connections: { perAddress: 10_001 } }, 'connections.perAddress: is more than max, which is 10000'],
    [{ drainsMax: 100, drainsMaxPerAccount: 101 }, 'drainsMaxPerAccount: is more than drainsMax, which is 100'],
    [
      { rateLimits: { unpaid: { concurrentStreams: 17 } } },
      'rateLimits.unpaid.concurrentStreams: is more than concurrentRequests, which is 16',
    ],
    [{ rateLimits: { keyPercent: 101 } }, 'rateLimits.keyPercent: must be at most 100'],
    [{ data: 'a\0b' }, `data: ${NUL}`],
    [{ catalog: 'a\0b' }, `catalog: ${NUL}`],
    [{ listen: { host: 'a\0b' } }, `listen.host: ${NUL}`],
    [{ metrics: { serve: { host: 'a\0b', port: 0 } } }, `metrics.serve.host: ${NUL}`],
    [{ providers: { mock: provider } }, 'providers.mock: is built in; choose another name'],
  ])('of %j is told with its path', (settings, fault) => {
    expect(faultsOf(() => read(settings))).toEqual([fault]);
  });

  test('is told together with all others', () => {
    const faults = faultsOf(() =>
      read({ listen: { port: -1 }, trialUsd: 'x', logLevel: 7, providers: { main: { ...provider, auth: 'basic' } } }),
    );
    expect(faults).toEqual([
      'listen.port: must be at least 0',
      'providers.main.auth: expected one of "x-api-key", "bearer"',
      'trialUsd: expected USD as a string such as "5.00"',
      'logLevel: expected one of "fatal", "error", "warn", "info", "debug", "trace", "silent"',
    ]);
  });

  test('names the file it is in', () => {
    expect(() => read({ data: 7 })).toThrow(`${join(folder, 'gateway.yaml')}:\n  data: expected a string`);
  });

  test('of a file that is not YAML, or is missing, is told in the same way', () => {
    expect(
      faultsOf(() => readConfiguration({ file: fileOf('a: [1'), environment: {}, callsProviders: true })),
    ).toHaveLength(1);
    expect(
      ['none.yaml', '.', '/dev/null'].map((name) =>
        faultsOf(() => readConfiguration({ file: resolve(folder, name), environment: {}, callsProviders: true })),
      ),
    ).toEqual([['does not exist'], ['is a folder'], ['is no file, but a device, a pipe or a socket']]);
  });
});

describe('the prefix of stream names', () => {
  const withPrefix = (streamPrefix?: string) => ({
    eventLog: { kind: 'eventstoredb', connectionString: 'esdb://a:2113', streamPrefix },
  });

  test('is none by default', () => {
    expect(read(withPrefix())).toMatchObject({ eventLog: { streamPrefix: '' } });
    expect(read(withPrefix('eu.gateway_1-'))).toMatchObject({ eventLog: { streamPrefix: 'eu.gateway_1-' } });
  });

  test.each(['gateway', 'a-b-', 'gateway-account-', '-', '$x-', 'a b-', 'account-', 'ledger-', 'clock-'])(
    '%s is refused: with it a ledger would take streams of another one for its own, or the server would',
    (streamPrefix) => {
      expect(faultsOf(() => read(withPrefix(streamPrefix)))).toEqual([
        expect.stringMatching(/^eventLog\.streamPrefix: /),
      ]);
    },
  );
});
