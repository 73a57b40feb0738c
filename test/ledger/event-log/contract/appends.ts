import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import {
  at,
  collect,
  event,
  events,
  idsOf,
  type LogsUnderTest,
  newStream,
  written,
} from '../../../fixtures/ledger/shared-log.ts';

/** The rows of the append table in contracts/event-log.ts, in its order. */
export function describeAppends(logs: LogsUnderTest): void {
  describe('append', () => {
    describe('with the current revision', () => writesNextEvents(logs));
    describe('with a later revision', () => conflictsAhead(logs));
    describe('with an earlier revision and the same ids', () => recognisesRetries(logs));
    describe('with an earlier revision and other ids', () => conflictsBehind(logs));
  });
}

function writesNextEvents(logs: LogsUnderTest): void {
  it('begins a stream at revision 0', async () => {
    const stream = newStream();
    const proposed = events(3);

    const result = await logs.log.append(stream, NO_STREAM, proposed);

    const recorded = await collect(logs.log.readStream(stream));
    expect(recorded.map(({ id, revision }) => [id, revision])).toEqual(idsOf(proposed).map((id, index) => [id, index]));
    expect(result).toEqual({ type: 'appended', lastRevision: 2, position: recorded.at(-1)?.position });
    // A server that stamps events stamps each of them; a log without a clock of its own claims none.
    expect(new Set(recorded.map(({ stampedAtMs }) => typeof stampedAtMs)).size).toBe(1);
    for (const { stampedAtMs = 1 } of recorded) expect(stampedAtMs).toSatisfy(Number.isSafeInteger);
  });

  it('goes on after the last event, and answers with the position of its own last event', async () => {
    const stream = newStream();
    const first = await written(logs.log, stream, NO_STREAM, events(2));
    const second = await written(logs.log, stream, at(1), events(3));

    const recorded = await collect(logs.log.readStream(stream));
    expect(second.lastRevision).toBe(4);
    expect(recorded[1]?.position).toBe(first.position);
    expect(recorded[4]?.position).toBe(second.position);
    expect(second.position).toBeGreaterThan(first.position);
  });

  it('takes an id that another stream has', async () => {
    const proposed = events(2);
    await written(logs.log, newStream(), NO_STREAM, proposed);
    const stream = newStream();

    await written(logs.log, stream, NO_STREAM, proposed);

    expect(idsOf(await collect(logs.log.readStream(stream)))).toEqual(idsOf(proposed));
  });

  it('goes on after what another handle wrote', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(1));
    await written(logs.other, stream, at(0), events(2));
    const { lastRevision } = await written(logs.log, stream, at(2), events(1));
    expect(lastRevision).toBe(3);
    expect(await collect(logs.other.readStream(stream))).toHaveLength(4);
  });
}

function conflictsAhead(logs: LogsUnderTest): void {
  it('is a conflict where there is no stream', async () => {
    const stream = newStream();
    expect(await logs.log.append(stream, at(0), events(1))).toEqual({ type: 'conflict', actualRevision: NO_STREAM });
    expect(await collect(logs.log.readStream(stream))).toEqual([]);
  });

  it('is a conflict that tells the stream its last revision and writes nothing', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(2));

    expect(await logs.log.append(stream, at(2), events(3))).toEqual({ type: 'conflict', actualRevision: 1 });

    expect(await collect(logs.log.readStream(stream))).toHaveLength(2);
    expect((await written(logs.log, stream, at(1), events(1))).lastRevision).toBe(2);
  });
}

function recognisesRetries(logs: LogsUnderTest): void {
  it('answers an exact retry as the first time and writes nothing', async () => {
    const stream = newStream();
    const proposed = events(3);
    const first = await logs.log.append(stream, NO_STREAM, proposed);
    expect(await logs.log.append(stream, NO_STREAM, proposed)).toEqual(first);
    expect(await collect(logs.log.readStream(stream))).toHaveLength(3);
  });

  it('answers a retry of an old append with its own revision and position, not the head', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(2));
    const proposed = events(2);
    const first = await logs.log.append(stream, at(1), proposed);
    await written(logs.log, stream, at(3), events(4));

    expect(await logs.log.append(stream, at(1), proposed)).toEqual(first);
    expect(await logs.other.append(stream, at(1), proposed)).toEqual(first);
    expect(await collect(logs.log.readStream(stream))).toHaveLength(8);
  });

  it('answers a retry with a prefix with the last event of the prefix', async () => {
    const stream = newStream();
    const proposed = events(4);
    await written(logs.log, stream, NO_STREAM, proposed);

    const result = await logs.log.append(stream, NO_STREAM, proposed.slice(0, 2));

    const recorded = await collect(logs.log.readStream(stream));
    expect(result).toEqual({ type: 'appended', lastRevision: 1, position: recorded[1]?.position });
    expect(recorded).toHaveLength(4);
  });

  it('recognises events that two appends have written', async () => {
    const stream = newStream();
    const [first, second] = [event(), event()];
    await written(logs.log, stream, NO_STREAM, [first]);
    const last = await logs.log.append(stream, at(0), [second]);

    expect(await logs.log.append(stream, NO_STREAM, [first, second])).toEqual(last);
    expect(await collect(logs.log.readStream(stream))).toHaveLength(2);
  });

  it('recognises a retry that comes with the first try', async () => {
    const stream = newStream();
    const proposed = events(2);
    const results = await Promise.all([
      logs.log.append(stream, NO_STREAM, proposed),
      logs.log.append(stream, NO_STREAM, proposed),
      logs.other.append(stream, NO_STREAM, proposed),
    ]);
    expect(results.map(({ type }) => type)).toEqual(['appended', 'appended', 'appended']);
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(await collect(logs.log.readStream(stream))).toHaveLength(2);
  });
}

function conflictsBehind(logs: LogsUnderTest): void {
  it('is a conflict when the first id differs', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(3));
    expect(await logs.log.append(stream, NO_STREAM, events(1))).toEqual({ type: 'conflict', actualRevision: 2 });
    expect(await collect(logs.log.readStream(stream))).toHaveLength(3);
  });

  it('is a conflict when a later id differs', async () => {
    const stream = newStream();
    const [first, second] = [event(), event()];
    await written(logs.log, stream, NO_STREAM, [first, second]);
    expect(await logs.log.append(stream, NO_STREAM, [first, event()])).toEqual({
      type: 'conflict',
      actualRevision: 1,
    });
    expect(idsOf(await collect(logs.log.readStream(stream)))).toEqual([first.id, second.id]);
  });

  it('is a conflict when the retry has more events than were written', async () => {
    const stream = newStream();
    const proposed = events(2);
    await written(logs.log, stream, NO_STREAM, proposed);
    expect(await logs.log.append(stream, NO_STREAM, [...proposed, event()])).toEqual({
      type: 'conflict',
      actualRevision: 1,
    });
    expect(await collect(logs.log.readStream(stream))).toHaveLength(2);
  });

  it('is a conflict when the ids stand at other revisions', async () => {
    const stream = newStream();
    const proposed = events(2);
    await written(logs.log, stream, NO_STREAM, [event(), ...proposed]);
    expect(await logs.log.append(stream, NO_STREAM, proposed)).toEqual({ type: 'conflict', actualRevision: 2 });
    expect(await collect(logs.log.readStream(stream))).toHaveLength(3);
  });
}
