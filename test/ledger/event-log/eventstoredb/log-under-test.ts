import { onTestFinished } from 'vitest';
import type { Logger } from '../../../../ledger/event-log/eventstoredb/connection.ts';
import {
  type EventStoreDbEventLog,
  type EventStoreDbOptions,
  openEventStoreDbEventLog,
} from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import type { EventStoreDbDeadlines } from '../../../../ledger/event-log/eventstoredb/limits.ts';
import {
  type FakeEventStore,
  type FakeEventStoreOptions,
  startFakeEventStore,
} from '../../../eventstoredb/fake-event-store.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';

/** Longer than anything takes that goes well, on any machine. A test that waits for one of them makes that one short. */
export const PATIENT: EventStoreDbDeadlines = {
  connectMs: 60_000,
  appendMs: 60_000,
  overtakenMs: 60_000,
  appendTurnMs: 60_000,
  stallMs: 60_000,
  headMs: 60_000,
  silenceMs: 60_000,
  silenceGraceMs: 60_000,
  closeMs: 60_000,
  backoffMs: 10,
  backoffMaxMs: 50,
};

/** A deadline that a test waits for, and that what goes well meets all the same. */
export const WAITED_FOR_MS = 2_000;

/** With these a silent subscription is soon found. One that is only slow may be, too: it begins again, and nothing is lost. */
export const SOON_SILENT = { silenceMs: 150, silenceGraceMs: 300 };

/** Keeps what was logged. */
export class Lines implements Logger {
  readonly debugs: string[] = [];
  readonly warnings: string[] = [];
  readonly errors: string[] = [];
  /** Everything, with its fields, as one text. */
  text = '';

  debug(fields: object, message: string): void {
    this.debugs.push(message);
    this.text += `${JSON.stringify(fields)} ${message}\n`;
  }

  warn(fields: object, message: string): void {
    this.warnings.push(message);
    this.text += `${JSON.stringify(fields)} ${message}\n`;
  }

  error(fields: object, message: string): void {
    this.errors.push(message);
    this.text += `${JSON.stringify(fields)} ${message}\n`;
  }
}

/** A log that is closed when the test ends. */
export async function open(options: EventStoreDbOptions): Promise<EventStoreDbEventLog> {
  return endedLater(await openEventStoreDbEventLog({ ...options, deadlines: { ...PATIENT, ...options.deadlines } }));
}

export interface LogUnderTest {
  readonly server: FakeEventStore;
  readonly log: EventStoreDbEventLog;
  readonly lines: Lines;
}

/** A server of the test's own, and a log whose start check is over. */
export async function startWithLog(
  options: Partial<EventStoreDbOptions> & { readonly server?: FakeEventStoreOptions } = {},
): Promise<LogUnderTest> {
  const server = endedLater(await startFakeEventStore(options.server));
  const lines = new Lines();
  const log = await open({ connectionString: server.connectionString, logger: lines, waitForServer: true, ...options });
  // One that is left open looks for its server for ever, and may find another one at the same port.
  onTestFinished(() => log.close());
  return { server, log, lines };
}
