import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { collect, events, idsOf, type LogsUnderTest, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Subscriber } from './subscriber.ts';

export function describeClosing(logs: LogsUnderTest): void {
  describe('close', () => {
    it('waits for appends under way, which are in the log', async () => {
      const log = await logs.open();
      const streams = Array.from({ length: 20 }, newStream);
      const proposed = streams.map(() => events(3));
      const appends = streams.map((stream, index) => log.append(stream, NO_STREAM, proposed[index] ?? []));
      await log.close();

      for (const append of appends) expect(await append).toMatchObject({ type: 'appended', lastRevision: 2 });
      for (const [index, stream] of streams.entries())
        expect(idsOf(await collect(logs.other.readStream(stream)))).toEqual(idsOf(proposed[index] ?? []));
    });

    it('may be called again, also while it is under way', async () => {
      const log = await logs.open();
      await Promise.all([log.close(), log.close()]);
      await log.close();
    });

    it('refuses whatever is asked afterwards, at once', async () => {
      const log = await logs.open();
      const stream = newStream();
      await written(log, stream, NO_STREAM, events(1));
      const closing = log.close();
      const closed = { name: 'EventLogError', kind: 'closed' };

      for (let round = 0; round < 2; round++) {
        await expect(log.append(stream, NO_STREAM, events(1))).rejects.toMatchObject(closed);
        await expect(collect(log.readStream(stream))).rejects.toMatchObject(closed);
        await expect(collect(log.readAll())).rejects.toMatchObject(closed);
        await expect(log.headPosition()).rejects.toMatchObject(closed);
        const subscriber = new Subscriber(log, null, []);
        await subscriber.until(() => subscriber.stopped.length > 0);
        expect(subscriber.stopped).toMatchObject([closed]);
        expect(subscriber.all).toEqual([]);
        await closing;
      }
    });

    it('ends subscriptions silently', async () => {
      const log = await logs.open();
      const stream = newStream();
      const subscriber = new Subscriber(log, await log.headPosition(), [stream]);
      const { position } = await written(log, stream, NO_STREAM, events(1));
      await subscriber.untilAt(position);
      await log.close();
      await subscriber.close();
      expect(subscriber.stopped).toEqual([]);
      expect(subscriber.own).toHaveLength(1);
    });

    it('closes no other handle', async () => {
      const log = await logs.open();
      await log.close();
      await written(logs.log, newStream(), NO_STREAM, events(1));
    });
  });
}
