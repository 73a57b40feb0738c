import { describe, expect, it } from 'vitest';
import type { ProposedEvent } from '../../../../contracts/event-log.ts';
import { eventId, NO_STREAM, revision, type StreamName } from '../../../../contracts/ids.ts';
import { LIMITS } from '../../../../contracts/limits.ts';
import { APPEND_BOUNDS } from '../../../../ledger/event-log/append-bounds.ts';
import { collect, event, events, type LogsUnderTest, newStream, written } from '../../../fixtures/ledger/shared-log.ts';

/** What is refused as `invalid` before the log is asked, naming the bound, with nothing written. */
export function describeRefusedAppends(logs: LogsUnderTest): void {
  describe('append refuses', () => {
    const refuses = async (proposed: readonly ProposedEvent[], message: string): Promise<void> => {
      const stream = newStream();
      await expect(logs.log.append(stream, NO_STREAM, proposed)).rejects.toMatchObject({
        name: 'EventLogError',
        kind: 'invalid',
        message: expect.stringContaining(message),
      });
      expect(await collect(logs.log.readStream(stream))).toEqual([]);
    };

    it('no events', () => refuses([], 'at least one event'));

    it('more events than an append may have', () =>
      refuses(events(APPEND_BOUNDS.eventsPerAppendMax + 1), 'eventsPerAppendMax'));

    it('an event of too many bytes, and takes one of just as many as it may have', async () => {
      const largest = eventOfBytes(LIMITS.eventBytesMax);
      await refuses([eventOfBytes(LIMITS.eventBytesMax + 1)], 'eventBytesMax');
      const stream = newStream();
      await written(logs.log, stream, NO_STREAM, [largest]);
      expect((await collect(logs.log.readStream(stream)))[0]?.data).toBe(largest.data);
    });

    it('an event whose characters fit and whose bytes do not', () =>
      refuses([{ ...event(), data: JSON.stringify('é'.repeat(LIMITS.eventBytesMax / 2)) }], 'eventBytesMax'));

    it('an append of too many bytes, and takes one of just as many as it may have', async () => {
      const count = 8;
      const parts = Array.from({ length: count }, () => eventOfBytes(LIMITS.appendBytesMax / count));
      await refuses([...parts, event()], 'appendBytesMax');
      const stream = newStream();
      expect((await written(logs.log, stream, NO_STREAM, parts)).lastRevision).toBe(count - 1);
    });

    it('an id that is no UUID in lower case', async () => {
      await refuses([{ ...event(), id: eventId('7') }], 'UUID');
      await refuses([{ ...event(), id: eventId(event().id.toUpperCase()) }], 'UUID');
    });

    it('half a surrogate pair, which has no bytes', () => refuses([{ ...event(), data: '"\ud800"' }], 'Unicode'));

    it('an event with no type, or one too long', async () => {
      await refuses([{ ...event(), type: '' }], 'eventTypeCharsMax');
      await refuses([{ ...event(), type: 'T'.repeat(APPEND_BOUNDS.eventTypeCharsMax + 1) }], 'eventTypeCharsMax');
    });

    it('a stream with no name, or one too long', async () => {
      for (const name of ['', 's'.repeat(APPEND_BOUNDS.streamNameCharsMax + 1)])
        await expect(logs.log.append(name as StreamName, NO_STREAM, events(1))).rejects.toMatchObject({
          kind: 'invalid',
          message: expect.stringContaining('streamNameCharsMax'),
        });
    });

    it('an expected revision that is no revision', async () => {
      for (const expected of [-2, 0.5, Number.NaN])
        await expect(logs.log.append(newStream(), revision(expected), events(1))).rejects.toMatchObject({
          kind: 'invalid',
          message: expect.stringContaining('expected revision'),
        });
    });
  });
}

function eventOfBytes(bytes: number): ProposedEvent {
  const base = { ...event(), data: '""' };
  const rest = bytes - base.type.length - base.metadata.length - base.data.length;
  return { ...base, data: JSON.stringify('x'.repeat(rest)) };
}
