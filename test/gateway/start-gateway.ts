import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino, { type Logger } from 'pino';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { DomainEvent } from '../../contracts/events.ts';
import { type AccountId, accountId, accountStream, grantId, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { runAccountCommand } from '../../proxy/program/accounts/run-account-command.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { catalogAtStart, readConfiguredCatalog } from '../../proxy/program/serve/catalog-at-start.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { HIGH_LIMITS } from './high-limits.ts';

export interface TestGatewayOptions {
  /** A provider `test` at this address; the catalog then has `opal-*` and the others of TEST_CATALOG there. */
  readonly upstreamUrl?: string;
  /** Settings beside listen, data and providers, as in a configuration file. Limits are high where they are not said. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Settings of the provider `test` beside its address. */
  readonly provider?: Readonly<Record<string, unknown>>;
  /** A catalog file's content; TEST_CATALOG otherwise. */
  readonly catalog?: unknown;
  /** A data folder to start on again. */
  readonly data?: string;
  /** A log that several gateways share; who made it closes it. Otherwise `ledger.db` in the data folder. */
  readonly log?: EventLog;
  /** Credits of the account that is opened, in micro-USD. */
  readonly creditsMicroUsd?: bigint;
  readonly clock?: () => number;
  /** Where it is not given the wall clock never jumps, however it is moved. */
  readonly monotonic?: () => number;
  /** What the event loop is late by; never otherwise, however busy the machine is. */
  readonly loopDelay?: () => number;
  /** Lines that the gateway logs are added here. */
  readonly logLines?: string[];
  /** Of the journal, in bytes. Little where it is not said: hundreds of starts would write the gateway's 8 MiB in full. */
  readonly reserveBytes?: number;
  /** As the gateway's own option. */
  readonly onUnusable?: (error: Error) => void;
}

export interface TestGateway {
  readonly url: string;
  readonly data: string;
  /** An open account with a key. */
  readonly accountId: AccountId;
  readonly key: string;
  readonly gateway: Gateway;
  readonly log: EventLog;
  /** Carries out a command as the command line does, and waits until the views have it. */
  command(command: AccountCommand, id?: AccountId): Promise<void>;
  issueKey(
    options?: Partial<Extract<AccountCommand, { type: 'IssueKey' }>>,
    id?: AccountId,
  ): Promise<{ key: string; keyId: string }>;
  /** The account's stream, decoded, once everything that has finished is settled. */
  events(id?: AccountId): Promise<DomainEvent[]>;
  /**
   * Stops it; the data folder stays until the test run ends. Fails where a call has left something, but for the credit of
   * `heldForNextStart` requests that could not be accounted for: the journal keeps those.
   */
  stop(heldForNextStart?: number): Promise<void>;
}

const ACCOUNT = accountId('acct_test');
/** The ends of some ten requests; it grows with those that begin. */
const RESERVE_BYTES = 256 * 1_024;
const KEY_OF_DATA = new Map<string, string>();

const model = (id: string, more: object = {}) => ({
  id,
  display_name: id,
  family: 'opal',
  label: id,
  group: 'Test',
  context_window: 200_000,
  price: { input: '3.00', output: '15.00' },
  upstreams: [{ provider: 'test', model: id }],
  ...more,
});

/** Models at the provider `test`, one for each thing that a test needs. */
export const TEST_CATALOG = {
  models: [
    {
      id: 'svc-mock',
      display_name: 'Mock',
      family: 'svc',
      label: 'Mock',
      group: 'Test',
      context_window: 200_000,
      free: true,
      upstreams: [{ provider: 'mock', model: 'svc-mock' }],
    },
    model('opal-medium', { caching: 'explicit' }),
    model('opal-agent', { system_role: true }),
    model('opal-fast', { lanes: ['standard', 'fast'] }),
    model('opal-renamed', { upstreams: [{ provider: 'test', model: 'name-upstream' }] }),
    model('opal-twice', {
      upstreams: [
        { provider: 'test', model: 'first-place' },
        { provider: 'test', model: 'second-place' },
      ],
    }),
    model('opal-old', { status: 'deprecated', retires_at: '2099-12-31', replacement: 'opal-medium' }),
    model('opal-gone', { status: 'retired', retires_at: '2020-01-01', replacement: 'opal-medium', upstreams: [] }),
    model('opal-automatic', { caching: 'automatic' }),
  ],
};

/** Starts a gateway in this process on a folder of its own, with an account that has a key and credits. */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const data = options.data ?? temporaryFolder();
  const clock = options.clock ?? Date.now;
  const monotonic = options.monotonic ?? clock;
  const configuration = readConfiguration({
    file: writeConfiguration(data, options),
    environment: { TEST_UPSTREAM_KEY: 'upstream-secret-key' },
    callsProviders: true,
  });
  const log = options.log ?? (await openSqliteEventLog({ path: join(data, 'ledger.db') }));
  const context: CommandContext = {
    openEventLog: async () => log,
    proveLedger: async () => ({ isWhole: true, error: null }),
    compareClock: async () => null,
    environment: {},
    clock,
    write: () => undefined,
    warn: () => undefined,
  };
  const isFirst = (await log.headPosition()) === null;
  const startedWith = { config: configuration.file, data: undefined };
  await catalogAtStart(context, log, { configured: readConfiguredCatalog(configuration), startedWith });
  const run = (id: AccountId, command: AccountCommand) => runAccountCommand(context, log, id, command);
  if (isFirst) KEY_OF_DATA.set(data, await openAccount(run, options.creditsMicroUsd ?? 1_000_000_000n, clock()));
  const gateway = await Gateway.start({
    configuration,
    log,
    logger: loggerTo(options.logLines),
    clock,
    monotonic,
    reserveBytes: options.reserveBytes ?? RESERVE_BYTES,
    ...(options.loopDelay === undefined ? {} : { loopDelay: options.loopDelay }),
    ...(options.onUnusable === undefined ? {} : { onUnusable: options.onUnusable }),
  });
  await gateway.whenReady();

  const command = async (one: AccountCommand, id = ACCOUNT): Promise<void> => {
    const { position } = await run(id, one);
    if (position !== null) await gateway.projections.whenAt(position);
  };
  return {
    url: gateway.url,
    data,
    accountId: ACCOUNT,
    key: KEY_OF_DATA.get(data) ?? '',
    gateway,
    log,
    command,
    issueKey: async (more = {}, id = ACCOUNT) => {
      const made = newKey();
      await command({ ...issueCommand(made, clock()), ...more }, id);
      return { key: made.secret, keyId: made.keyId };
    },
    events: async (id = ACCOUNT) => {
      await gateway.whenSettled();
      return Array.fromAsync(log.readStream(accountStream(id)), decodeEvent);
    },
    stop: async (heldForNextStart = 0) => {
      await gateway.stop();
      if (options.log === undefined) await log.close();
      await nothingLeft(gateway, heldForNextStart);
    },
  };
}

const LEFT_MS_MAX = 10_000;

/** Whatever a call has taken of the gateway's bounds it has given back, however it ended. */
async function nothingLeft(gateway: Gateway, heldForNextStart: number): Promise<void> {
  const giveUpAt = performance.now() + LEFT_MS_MAX;
  for (;;) {
    const { bodyBytes, callsUnderWay, callsWaiting, callsHeld, drains } = gateway;
    const left = { bodyBytes, callsUnderWay, callsWaiting, callsHeld: callsHeld - heldForNextStart, drains };
    if (Object.values(left).every((count) => count <= 0)) return;
    if (performance.now() > giveUpAt)
      throw new Error(`the gateway has ended, and this is left: ${JSON.stringify(left)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'gateway-'));
}

function writeConfiguration(data: string, { upstreamUrl, settings, provider, catalog }: TestGatewayOptions): string {
  const catalogFile = join(data, 'catalog.json');
  const withUpstream = upstreamUrl !== undefined;
  const models = TEST_CATALOG.models.filter((one) => withUpstream || one.id === 'svc-mock');
  const example = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
  writeFileSync(catalogFile, JSON.stringify(catalog ?? { models }));
  const test = { protocol: 'messages', baseUrl: upstreamUrl, apiKeyEnv: 'TEST_UPSTREAM_KEY', ...provider };
  const file = join(data, 'gateway.json');
  const content = {
    listen: { port: 0 },
    data,
    catalog: withUpstream || catalog !== undefined ? catalogFile : example,
    ...(withUpstream ? { providers: { test } } : {}),
    rateLimits: HIGH_LIMITS,
    ...settings,
  };
  writeFileSync(file, JSON.stringify(content));
  return file;
}

type Run = (id: AccountId, command: AccountCommand) => Promise<unknown>;

async function openAccount(run: Run, credits: bigint, nowMs: number): Promise<string> {
  const trialGrantId = grantId('grant_trial');
  await run(ACCOUNT, {
    type: 'OpenAccount',
    accountId: ACCOUNT,
    kind: 'personal',
    email: 'test@example.com',
    trial: microUsd(0n),
    trialGrantId,
    nowMs,
  });
  if (credits > 0n)
    await run(ACCOUNT, {
      type: 'GrantCredits',
      grantId: grantId('grant_first'),
      source: 'purchase',
      amount: microUsd(credits),
      costBasis: microUsd(credits),
      priority: 100,
      effectiveAtMs: nowMs,
      expiresAtMs: null,
    });
  const made = newKey();
  await run(ACCOUNT, issueCommand(made, nowMs));
  return made.secret;
}

const issueCommand = (
  made: ReturnType<typeof newKey>,
  nowMs: number,
): Extract<AccountCommand, { type: 'IssueKey' }> => ({
  type: 'IssueKey',
  keyId: keyId(made.keyId),
  name: 'test',
  sha256: made.sha256,
  last4: made.last4,
  issuer: 'test',
  expiresAtMs: null,
  models: null,
  monthlyLimit: null,
  nowMs,
});

function loggerTo(lines: string[] | undefined): Logger {
  if (lines === undefined) return pino({ level: 'silent' });
  return pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
}
