import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { killAtOnce, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { UPSTREAM_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { computedBy } from './computed.ts';
import { firstCatalog, leaveOpen, type OpenedKeys, openAccounts, spendThreeDaysAgo, spendToday } from './lives.ts';
import { type OldProgram, oldProgram } from './old-program.ts';

/**
 * Makes the fixtures of a state of this project: `node test/written-before/make.ts FOLDER [KIND...]`, run at the commit whose
 * state they keep (README.md). FOLDER gets a folder for each kind of log, or for those that are named.
 */
type Kind = 'sqlite' | 'eventstoredb';

const DAY_MS = 86_400_000;
/** Longer than the views take to reach their file, and the journal its forgetting. */
const QUIET_MS = 3_000;
const stderrFd = openSync(join(tmpdir(), 'written-before.stderr.txt'), 'a');

const target = process.argv[2];
if (target === undefined) throw new Error('where to? node test/written-before/make.ts FOLDER');

async function make(kind: Kind, kept: string): Promise<void> {
  const upstream = startProcess([UPSTREAM_PROGRAM, '--port', '0'], { stderrFd });
  const { url: upstreamUrl } = await upstream.firstLine;
  const folder = mkdtempSync(join(tmpdir(), 'written-before-'));
  const opened = await live(kind, folder, upstreamUrl);
  keep(kind, folder, kept);
  const withoutJournal = mkdtempSync(join(tmpdir(), 'written-before-'));
  cpSync(kept, withoutJournal, { recursive: true });
  rmSync(join(withoutJournal, 'data', 'journal'), { recursive: true });
  const computed = {
    whole: await compute(kind, copyOf(kept), upstreamUrl, opened),
    withoutJournal: await compute(kind, withoutJournal, upstreamUrl, opened),
  };
  writeFileSync(join(kept, 'computed.json'), `${JSON.stringify(computed, null, 2)}\n`);
  await killAtOnce(upstream);
}

/** Two lives of one gateway, three days apart; the second ends by `kill -9`. */
async function live(kind: Kind, folder: string, upstreamUrl: string): Promise<OpenedKeys> {
  mkdirSync(join(folder, 'data'));
  firstCatalog(join(folder, 'catalog.json'));
  const store = kind === 'sqlite' ? null : await startStore(folder);
  const at = (clockOffsetMs: number) => programOn({ folder, upstreamUrl, store, clockOffsetMs });
  await at(-3 * DAY_MS).command('catalog', 'publish', join(folder, 'catalog.json'));
  const opened = await openAccounts(at(-3 * DAY_MS));
  const first = at(-3 * DAY_MS).serve();
  await spendThreeDaysAgo((await first.firstLine).url, opened);
  await stopInOrder(first);

  const today = at(0);
  const second = today.serve();
  const { url } = await second.firstLine;
  await spendToday(url, opened, today, folder);
  let goOn = (): void => undefined;
  await leaveOpen(url, opened, {
    beforeStandstill: async () => {
      await today.command('account', 'suspend', 'acct_team', '--reason', 'card disputed');
    },
    standstill: async () => {
      if (store === null) goOn = lock(join(folder, 'data', 'ledger.db'));
      else await store.kill();
    },
  });
  await delay(QUIET_MS);
  await killAtOnce(second);
  goOn();
  store?.log.close();
  return opened;
}

interface Site {
  readonly folder: string;
  readonly upstreamUrl: string;
  readonly store: FakeEventStore | null;
  readonly clockOffsetMs: number;
}

function programOn({ folder, upstreamUrl, store, clockOffsetMs }: Site): OldProgram {
  const configPath = join(folder, 'gateway.json');
  const configuration = {
    listen: { port: 0 },
    data: './data',
    catalog: './catalog.json',
    // On sqlite that is said: a fixture without leases would keep less.
    proxies: 'many',
    providers: { test: { protocol: 'messages', baseUrl: upstreamUrl, apiKeyEnv: 'TEST_UPSTREAM_KEY' } },
    ...(store === null ? {} : { eventLog: { kind: 'eventstoredb', connectionString: store.connectionString } }),
    logLevel: 'warn',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return oldProgram({ configPath, stderrFd, clockOffsetMs });
}

function startStore(folder: string): Promise<FakeEventStore> {
  return startFakeEventStore({ log: new StoredLog({ file: join(folder, 'events.ndjson') }) });
}

/** Another connection's write transaction: whatever the gateway appends waits. Returns what ends it. */
function lock(path: string): () => void {
  const database = new DatabaseSync(path);
  database.exec('BEGIN IMMEDIATE');
  return () => database.close();
}

/** Copies what the gateway wrote; the databases without their write-ahead log, the journal without its reserve. */
function keep(kind: Kind, folder: string, kept: string): void {
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(kept, { recursive: true });
  const data = join(folder, 'data');
  for (const name of kind === 'sqlite' ? ['ledger.db', 'views.db'] : ['views.db']) {
    const database = new DatabaseSync(join(data, name));
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
  }
  const isKept = (source: string) => !/-wal$|-shm$|\/(lock|reserve)[^/]*$/.test(source);
  cpSync(data, join(kept, 'data'), { recursive: true, filter: isKept });
  cpSync(join(folder, 'catalog.json'), join(kept, 'catalog.json'));
  if (kind === 'eventstoredb') cpSync(join(folder, 'events.ndjson'), join(kept, 'events.ndjson'));
}

function copyOf(kept: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'written-before-'));
  cpSync(kept, folder, { recursive: true });
  return folder;
}

async function compute(kind: Kind, folder: string, upstreamUrl: string, opened: OpenedKeys) {
  const store = kind === 'sqlite' ? null : await startStore(folder);
  const computed = await computedBy(programOn({ folder, upstreamUrl, store, clockOffsetMs: 0 }), opened);
  await store?.stop();
  return computed;
}

const KINDS = ['sqlite', 'eventstoredb'] as const;
const named = process.argv.slice(3);
for (const kind of KINDS) if (named.length === 0 || named.includes(kind)) await make(kind, join(target, kind));
process.exit();
