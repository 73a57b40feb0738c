import { randomUUID } from 'node:crypto';
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { NO_STREAM, revision, type StreamName } from '../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { type FolderNote, readNote } from '../../ledger/identity/folder-note.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import type { Computed } from '../written-before/computed.ts';
import type { Kind } from '../written-before/kept-state.ts';

/** A data folder with its ledger in one kind of log, which can be put back to an earlier state while nothing runs. */
export class LedgerSite {
  readonly kind: Kind;
  readonly folder: string;
  readonly data: string;
  readonly computed: Computed;
  readonly configPath: string;
  #store: FakeEventStore | null = null;

  /** @param folder a copy of one of test/written-before's, which has a journal, views and leases */
  constructor(kind: Kind, folder: string, computed: Computed) {
    this.kind = kind;
    this.folder = folder;
    this.data = join(folder, 'data');
    this.computed = computed;
    this.configPath = join(folder, 'gateway.json');
  }

  /** What the log is kept in. */
  get ledgerFile(): string {
    return this.kind === 'sqlite' ? join(this.data, 'ledger.db') : join(this.folder, 'events.ndjson');
  }

  /** Starts the event store where there is one, and writes the configuration for it. */
  async up(): Promise<void> {
    const eventLog =
      this.kind === 'sqlite'
        ? { kind: 'sqlite' }
        : { kind: 'eventstoredb', connectionString: (await this.#startStore()).connectionString };
    const configuration = { listen: { port: 0 }, data: './data', catalog: './catalog.json', proxies: 'many', eventLog };
    const catalog = join(this.folder, 'catalog.json');
    // Nothing goes upstream here: the models are at the built-in mock.
    writeFileSync(catalog, readFileSync(catalog, 'utf8').replaceAll('"provider":"test"', '"provider":"mock"'));
    writeFileSync(this.configPath, JSON.stringify({ ...configuration, logLevel: 'fatal' }));
  }

  async down(): Promise<void> {
    await this.#store?.stop();
    this.#store?.log.close();
    this.#store = null;
  }

  async openLog(): Promise<EventLog> {
    if (this.kind === 'sqlite') return openSqliteEventLog({ path: this.ledgerFile });
    const { connectionString } = this.#store ?? (await this.#startStore());
    return openEventStoreDbEventLog({ connectionString, waitForServer: true });
  }

  /** A life of the gateway in this process that is ready. @throws LedgerLostError */
  async serve(options: { readonly log?: EventLog } = {}): Promise<StartedGateway> {
    const life = await this.start(options);
    await life.gateway.whenReady();
    return life;
  }

  /** `gateway ledger accept-loss`, in this process. */
  acceptLoss(...flags: readonly string[]): ReturnType<typeof runHere> {
    return runHere('--config', this.configPath, ...flags, 'ledger', 'accept-loss', '--reason', 'test');
  }

  /** A life of the gateway in this process. @throws LedgerLostError */
  async start(options: { readonly log?: EventLog } = {}): Promise<StartedGateway> {
    const configuration = readConfiguration({ file: this.configPath, environment: {}, callsProviders: true });
    const log = options.log ?? (await this.openLog());
    // The program's own commands, which are run beside it, have the machine's clock.
    const clock = Date.now;
    const lost = Promise.withResolvers<Error>();
    try {
      const logger = pino({ level: 'silent' });
      const gateway = await Gateway.start({
        configuration,
        log,
        logger,
        clock,
        monotonic: () => performance.now(),
        onUnusable: lost.resolve,
      });
      const stop = async (): Promise<void> => {
        await gateway.stop();
        await log.close();
      };
      onTestFinished(stop);
      return { gateway, log, whenLost: lost.promise, stop };
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Leaves the ledger with its first events, as a copy of then would have it. The store must be down. */
  async rollBack(keep: Keep): Promise<void> {
    const whole = `${this.ledgerFile}.whole`;
    if (this.kind === 'sqlite') {
      renameSync(this.ledgerFile, whole);
      await copyEvents(whole, this.ledgerFile, keep);
    } else {
      cpSync(this.ledgerFile, whole);
      const lines = readFileSync(whole, 'utf8').trimEnd().split('\n');
      writeFileSync(this.ledgerFile, keptLines(lines, keep).join(''));
    }
  }

  /** Deletes a stream of the event store for ever, while it runs. */
  tombstone(stream: string): void {
    this.#store?.log.tombstone(stream, 'any');
  }

  /** Another application writes to a stream of the event store, while it runs. */
  spoil(stream: string): void {
    const json = Buffer.from('{}');
    const event = {
      id: randomUUID(),
      type: 'OrderPlaced',
      contentType: 'application/json',
      data: json,
      metadata: json,
    };
    this.#store?.log.append(stream, 'any', [event]);
  }

  deleteLedger(): void {
    for (const end of ['', '-wal', '-shm']) rmSync(this.ledgerFile + end, { force: true });
  }

  /** Takes away what the folder knows by other means. */
  forget(...names: readonly string[]): void {
    for (const name of names) rmSync(join(this.data, name), { recursive: true, force: true });
  }

  /** What the folder has noted of its ledger. */
  note(): FolderNote {
    const note = readNote(this.data);
    if (note === null) throw new Error(`${this.data} has no note`);
    return note;
  }

  /** The folder of another proxy of this ledger, as it is now. */
  copyOfFolder(): LedgerSite {
    const folder = temporaryFolder();
    cpSync(this.folder, folder, { recursive: true });
    return new LedgerSite(this.kind, folder, this.computed);
  }

  async #startStore(): Promise<FakeEventStore> {
    this.#store = await startFakeEventStore({ log: new StoredLog({ file: this.ledgerFile }) });
    return this.#store;
  }
}

export interface StartedGateway {
  readonly gateway: Gateway;
  readonly log: EventLog;
  readonly whenLost: Promise<Error>;
  stop(): Promise<void>;
}

/** False for the first event that the ledger has lost. */
export type Keep = (event: { stream: string; type: string }, index: number) => boolean;

async function copyEvents(from: string, to: string, keep: Keep): Promise<void> {
  const whole = await openSqliteEventLog({ path: from });
  const log = await openSqliteEventLog({ path: to });
  let index = 0;
  for await (const event of whole.readAll()) {
    if (!keep(event, index++)) break;
    const expected = event.revision === 0 ? NO_STREAM : revision(event.revision - 1);
    await log.append(event.stream as StreamName, expected, [event]);
  }
  await whole.close();
  await log.close();
}

/** Whole appends: a store never has half of one. */
function keptLines(lines: readonly string[], keep: Keep): string[] {
  let index = 0;
  const kept: string[] = [];
  for (const line of lines) {
    const [stream, , events] = JSON.parse(line) as [string, number, [string, string][] | null];
    if (!stream.startsWith('$') && !(events ?? []).every(([, type]) => keep({ stream, type }, index++))) return kept;
    kept.push(`${line}\n`);
  }
  return kept;
}
