import { describe, expect, it } from 'vitest';
import type { EventLog, ProposedEvent, RecordedEvent } from '../../../../contracts/event-log.ts';
import { NO_STREAM, type Position, type StreamName } from '../../../../contracts/ids.ts';
import {
  appendAnyhow,
  events,
  idsOf,
  type LogsUnderTest,
  newStream,
  written,
} from '../../../fixtures/ledger/shared-log.ts';
import { Subscriber } from './subscriber.ts';

/** Never a gap, never a repeat: through resumptions, two writers, and a handler that cannot keep up. */
export function describeResumedSubscriptions(logs: LogsUnderTest): void {
  describe('subscribeAll', () => {
    it('resumes without gap or repeat while two handles append', async () => {
      const streams = [newStream(), newStream(), newStream()];
      const start = await logs.log.headPosition();
      const appending = appendFromBoth(logs, streams, 60);
      const seen: RecordedEvent[] = [];
      let after = start;
      for (let wanted = 40; wanted <= 480; wanted += 40) {
        const subscriber = new Subscriber(logs.log, after, streams);
        await subscriber.until(() => seen.length + subscriber.own.length >= wanted);
        await subscriber.close();
        seen.push(...subscriber.own);
        after = subscriber.last ?? after;
      }
      const proposed = await appending;
      expect(idsOf(seen).sort()).toEqual(idsOf(proposed).sort());
      expectLogOrder(seen);
    });

    it('hands over what two handles append while it is live, without gap or repeat', async () => {
      const streams = [newStream(), newStream()];
      const start = await logs.log.headPosition();
      const [mine, theirs] = [new Subscriber(logs.log, start, streams), new Subscriber(logs.other, start, streams)];
      const proposed = await appendFromBoth(logs, streams, 80);
      for (const subscriber of [mine, theirs]) {
        await subscriber.until(() => subscriber.own.length >= proposed.length);
        await subscriber.close();
        expectLogOrder(subscriber.all);
        expect(idsOf(subscriber.own).sort()).toEqual(idsOf(proposed).sort());
      }
      expect(mine.own).toEqual(theirs.own);
    });

    it('waits for a slow handler: nothing is lost, and it is never called twice at once', async () => {
      const stream = newStream();
      const gate = Promise.withResolvers<void>();
      const subscriber = new Subscriber(logs.log, await logs.log.headPosition(), [stream], () => gate.promise);
      const last = await appendMany(logs.log, stream, 40, 500);
      expect(subscriber.all).toEqual([]);
      gate.resolve();
      await subscriber.untilAt(last);
      await subscriber.close();

      expect(subscriber.own.map(({ revision }) => revision)).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
      expect(subscriber.underWayMax).toBe(1);
      expect(Math.max(...subscriber.batches.map(({ length }) => length))).toBeLessThanOrEqual(4_096);
    });
  });
}

function expectLogOrder(list: readonly RecordedEvent[]): void {
  const positions = list.map(({ position }) => position);
  expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
}

/** Each handle appends two events so many times, to the streams in turn. */
async function appendFromBoth(
  { log, other }: LogsUnderTest,
  streams: readonly StreamName[],
  rounds: number,
): Promise<ProposedEvent[]> {
  const proposed: ProposedEvent[] = [];
  const appendFrom = async (handle: EventLog): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const stream = streams[round % streams.length] ?? newStream();
      const pair = events(2);
      proposed.push(...pair);
      await appendAnyhow(handle, stream, pair);
    }
  };
  await Promise.all([appendFrom(log), appendFrom(other), appendFrom(log), appendFrom(other)]);
  return proposed;
}

async function appendMany(log: EventLog, stream: StreamName, appends: number, each: number): Promise<Position> {
  let last = await written(log, stream, NO_STREAM, events(each));
  for (let count = 1; count < appends; count++) last = await written(log, stream, last.lastRevision, events(each));
  return last.position;
}
