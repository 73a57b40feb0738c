import { describe, expect, it } from 'vitest';
import type { EventLog, ReadAllOptions, RecordedEvent } from '../../../../contracts/event-log.ts';
import { eventId, NO_STREAM, type Position, type StreamName } from '../../../../contracts/ids.ts';
import {
  at,
  collect,
  event,
  events,
  idsOf,
  type LogsUnderTest,
  newId,
  newStream,
  written,
} from '../../../fixtures/ledger/shared-log.ts';

/** More than one page of any adapter. */
const MANY = 1_200;

export function describeReads(logs: LogsUnderTest): void {
  describe('readStream', () => {
    readsOneStream(logs);
    returnsWhatWasAppended(logs);
  });
  describe('readAll', () => readsAll(logs));
}

function readsOneStream(logs: LogsUnderTest): void {
  it('finds no events in a stream that does not exist', async () => {
    expect(await collect(logs.log.readStream(newStream()))).toEqual([]);
    expect(await collect(logs.log.readStream(newStream(), { direction: 'backwards' }))).toEqual([]);
  });

  it('reads forwards and backwards from a revision, inclusive, as many as it is asked for', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(6));
    await written(logs.log, newStream(), NO_STREAM, events(2));
    const revisions = async (options: Parameters<EventLog['readStream']>[1]): Promise<number[]> =>
      (await collect(logs.log.readStream(stream, options))).map(({ revision }) => revision);

    expect(await revisions({})).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await revisions({ from: at(2) })).toEqual([2, 3, 4, 5]);
    expect(await revisions({ from: at(2), limit: 2 })).toEqual([2, 3]);
    expect(await revisions({ from: at(9) })).toEqual([]);
    expect(await revisions({ direction: 'backwards' })).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await revisions({ direction: 'backwards', limit: 1 })).toEqual([5]);
    expect(await revisions({ direction: 'backwards', from: at(3) })).toEqual([3, 2, 1, 0]);
    expect(await revisions({ direction: 'backwards', from: at(3), limit: 2 })).toEqual([3, 2]);
    expect(await revisions({ direction: 'backwards', from: at(9) })).toEqual([5, 4, 3, 2, 1, 0]);
  });

  it('reads a long stream whole, in order, both ways', async () => {
    const stream = newStream();
    const proposed = events(MANY);
    await written(logs.log, stream, NO_STREAM, proposed);
    const forwards = await collect(logs.log.readStream(stream));
    expect(idsOf(forwards)).toEqual(idsOf(proposed));
    expect(await collect(logs.log.readStream(stream, { direction: 'backwards' }))).toEqual(forwards.toReversed());
    expect(await collect(logs.log.readStream(stream, { limit: MANY - 1 }))).toEqual(forwards.slice(0, -1));
  });

  it('may be left in the middle, many times over', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(MANY));
    for (let round = 0; round < 50; round++)
      for await (const { revision } of logs.log.readStream(stream)) if (revision === round) break;
    await written(logs.log, stream, at(MANY - 1), events(1));
    expect(await collect(logs.log.readStream(stream, { from: at(MANY) }))).toHaveLength(1);
  });
}

function returnsWhatWasAppended(logs: LogsUnderTest): void {
  it('returns id, type, data and metadata exactly', async () => {
    const stream = newStream();
    const awkward = [
      'plain',
      'é ü ß — 漢字 \u{1f4b8} \u{10ffff}',
      'quotes " and \\ and / and \n\r\t\b\f',
      '\u0000 \u001f \u007f \u2028 \u2029 \ufeff \ud83d',
      '',
      'x'.repeat(70_000),
    ];
    const proposed = awkward.map((text, index) => ({
      id: eventId(newId()),
      type: index === 1 ? 'Üblich' : 'SomethingHappened',
      data: JSON.stringify({ text, [text.slice(0, 20)]: [1, 1e21, -0.1, null, true, { big: '12345678901234567890' }] }),
      metadata: JSON.stringify({ text }),
    }));
    await written(logs.log, stream, NO_STREAM, proposed);

    const recorded = await collect(logs.other.readStream(stream));

    expect(recorded.map(({ stampedAtMs: _stamp, ...event }) => event)).toEqual(
      proposed.map((one, index) => ({
        ...one,
        stream,
        revision: index,
        position: expect.any(Number) as number,
      })),
    );
    expect(await collect(logs.log.readStream(stream))).toEqual(recorded);
  });

  it('keeps white space and the order of keys in JSON text', async () => {
    const stream = newStream();
    const data = '{ "b": 1.0,\n  "a" : 10e2, "b2":"\\u00e9" }';
    await written(logs.log, stream, NO_STREAM, [{ ...event(), data, metadata: ' {} ' }]);
    expect(await collect(logs.log.readStream(stream))).toMatchObject([{ data, metadata: ' {} ' }]);
  });

  it('knows streams by their whole name', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(1));
    for (const name of [stream.toUpperCase(), stream.slice(0, -1), `${stream} `, `${stream}%`])
      expect(await collect(logs.log.readStream(name as StreamName))).toEqual([]);
  });
}

function readsAll(logs: LogsUnderTest): void {
  it('reads every stream in log order after a position, exclusive', async () => {
    const [one, two] = [newStream(), newStream()];
    const first = await written(logs.log, one, NO_STREAM, events(2));
    await written(logs.other, two, NO_STREAM, events(3));
    const last = await written(logs.log, one, at(1), events(2));

    const recorded = await readUpTo(logs.log, first.position, last.position);

    const own = recorded.filter(({ stream }) => stream === one || stream === two);
    expect(own.map(({ stream, revision }) => [stream === one ? 'one' : 'two', Number(revision)])).toEqual([
      ['two', 0],
      ['two', 1],
      ['two', 2],
      ['one', 2],
      ['one', 3],
    ]);
    const positions = recorded.map(({ position }) => position);
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
  });

  it('reads what readStream reads', async () => {
    const stream = newStream();
    const { position } = await written(logs.log, newStream(), NO_STREAM, events(1));
    const last = await written(logs.log, stream, NO_STREAM, events(MANY));
    const own = (await readUpTo(logs.log, position, last.position)).filter((one) => one.stream === stream);
    expect(own).toEqual(await collect(logs.log.readStream(stream)));
  });

  it('reads as many as it is asked for, from the beginning too', async () => {
    const { position } = await written(logs.log, newStream(), NO_STREAM, events(5));
    await written(logs.log, newStream(), NO_STREAM, events(5));
    expect(await collect(logs.log.readAll({ after: position, limit: 3 }))).toHaveLength(3);
    const [first] = await collect(logs.log.readAll({ limit: 1 }));
    expect(first?.position).toBeLessThanOrEqual(position);
    expect(await collect(logs.log.readAll({ limit: 0 }))).toEqual([]);
  });

  it('says where events stand, over pages, where only that is asked for', async () => {
    const { position } = await written(logs.log, newStream(), NO_STREAM, events(1));
    const last = await written(logs.log, newStream(), NO_STREAM, events(MANY));
    const places = async (placesOnly: boolean) => {
      const found: object[] = [];
      for await (const one of logs.log.readAll({ after: position, placesOnly })) {
        if (one.position > last.position) break;
        found.push({ ...one, data: '', metadata: '' });
      }
      return found;
    };
    expect(await places(true)).toEqual(await places(false));
  });

  it("reads only a category's streams where it is asked for one", async () => {
    const { position } = await written(logs.log, newStream(), NO_STREAM, events(1));
    const [one, two] = ['proxy-one', 'proxy-two'].map((name) => `${name}-${newId()}` as StreamName);
    if (one === undefined || two === undefined) throw new Error('two streams');
    await written(logs.log, one, NO_STREAM, events(2));
    await written(logs.other, newStream(), NO_STREAM, events(MANY));
    await written(logs.other, two, NO_STREAM, events(MANY));
    await written(logs.log, one, at(1), events(1));
    const read = (options: ReadAllOptions) =>
      collect(logs.log.readAll({ after: position, category: 'proxy', ...options }));
    const all = await read({});
    const placeOf = ({ stream, revision }: RecordedEvent) => `${stream} ${revision}`;
    expect(all.map(placeOf)).toEqual([
      ...[0, 1].map((revision) => `${one} ${revision}`),
      ...Array.from({ length: MANY }, (_, revision) => `${two} ${revision}`),
      `${one} 2`,
    ]);
    expect(await read({ limit: 3 })).toEqual(all.slice(0, 3));
    expect(await read({ after: all.at(-2)?.position ?? null })).toEqual(all.slice(-1));
    expect(await read({ category: 'relay' })).toEqual([]);
  });

  it('finds nothing after the head', async () => {
    const { position } = await written(logs.log, newStream(), NO_STREAM, events(1));
    const head = await logs.log.headPosition();
    expect(head).toBeGreaterThanOrEqual(position);
    expect((await collect(logs.log.readAll({ after: head }))).filter((one) => one.position <= (head ?? 0))).toEqual([]);
  });

  it('has its head at or after every append that was answered, whichever handle wrote it', async () => {
    const { position } = await written(logs.other, newStream(), NO_STREAM, events(2));
    expect(await logs.log.headPosition()).toBeGreaterThanOrEqual(position);
  });
}

/** Others may append at the same time, so that the log has no end to read to. */
async function readUpTo(log: EventLog, after: Position, last: Position): Promise<RecordedEvent[]> {
  const recorded: RecordedEvent[] = [];
  for await (const one of log.readAll({ after })) {
    recorded.push(one);
    if (one.position >= last) break;
  }
  return recorded;
}
