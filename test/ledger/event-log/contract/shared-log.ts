import assert from 'node:assert/strict';
import { afterAll, beforeAll } from 'vitest';
import type { AppendResult, EventLog, ProposedEvent, RecordedEvent } from '../../../../contracts/event-log.ts';
import { eventId, type Position, type Revision, revision, type StreamName, uuidV7 } from '../../../../contracts/ids.ts';

/** One log that several processes use. */
export interface SharedLog {
  /** A further handle, independent of the others as though another process had it. */
  open(): Promise<EventLog>;
  /** After every handle is closed: removes what the test made. */
  remove(): Promise<void>;
}

export type LogFactory = () => Promise<SharedLog>;

/** The log under test and a second handle on it, for the length of the suite. */
export interface LogsUnderTest {
  readonly log: EventLog;
  readonly other: EventLog;
  readonly open: () => Promise<EventLog>;
}

export function useLog(factory: LogFactory): LogsUnderTest {
  let made: { shared: SharedLog; log: EventLog; other: EventLog } | null = null;
  beforeAll(async () => {
    const shared = await factory();
    made = { shared, log: await shared.open(), other: await shared.open() };
  });
  afterAll(async () => {
    const { shared, log, other } = get();
    await Promise.all([log.close(), other.close()]);
    await shared.remove();
  });
  function get(): { shared: SharedLog; log: EventLog; other: EventLog } {
    assert(made !== null, 'the log is there while tests run');
    return made;
  }
  return {
    get log() {
      return get().log;
    },
    get other() {
      return get().other;
    },
    open: () => get().shared.open(),
  };
}

export const newId = (): string => uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10)));

/** A stream that no other test and no other run has. */
export const newStream = (): StreamName => `account-${newId()}` as StreamName;

export function event(data: unknown = {}): ProposedEvent {
  return {
    id: eventId(newId()),
    type: 'SomethingHappened',
    data: JSON.stringify(data),
    metadata: JSON.stringify({ schemaVersion: 1 }),
  };
}

export const events = (count: number): ProposedEvent[] =>
  Array.from({ length: count }, (_, index) => event({ number: index }));

export const at = (value: number): Revision => revision(value);

export async function collect(source: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> {
  const collected: RecordedEvent[] = [];
  for await (const one of source) collected.push(one);
  return collected;
}

export const idsOf = (list: readonly ProposedEvent[]): string[] => list.map(({ id }) => id);

/** Appends and insists that it was written. */
export async function written(
  log: EventLog,
  stream: StreamName,
  expected: Revision,
  proposed: readonly ProposedEvent[],
): Promise<{ lastRevision: Revision; position: Position }> {
  const result: AppendResult = await log.append(stream, expected, proposed);
  assert(result.type === 'appended', `the stream is at ${JSON.stringify(result)}`);
  return result;
}

/** Appends after whatever is there, again and again until it fits: how every writer treats a conflict. */
export async function appendAnyhow(
  log: EventLog,
  stream: StreamName,
  proposed: readonly ProposedEvent[],
  triesMax = 1_000,
): Promise<Position> {
  let expected = revision(-1);
  for (let tries = 0; tries < triesMax; tries++) {
    const result = await log.append(stream, expected, proposed);
    if (result.type === 'appended') return result.position;
    expected = result.actualRevision;
  }
  throw new Error(`${triesMax} conflicts in a row`);
}
