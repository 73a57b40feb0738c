import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import {
  appendAnyhow,
  collect,
  events,
  idsOf,
  type LogsUnderTest,
  newStream,
  written,
} from '../../../fixtures/ledger/shared-log.ts';

export function describeConcurrentAppends(logs: LogsUnderTest): void {
  describe('concurrent appends', () => {
    it('at one expected revision have exactly one winner, whichever handle they come through', async () => {
      const stream = newStream();
      const proposals = Array.from({ length: 32 }, () => events(2));

      const results = await Promise.all(
        proposals.map((proposed, index) => (index % 2 ? logs.log : logs.other).append(stream, NO_STREAM, proposed)),
      );

      const winners = proposals.filter((_, index) => results[index]?.type === 'appended');
      expect(winners).toHaveLength(1);
      expect(results.filter(({ type }) => type === 'conflict')).toHaveLength(31);
      expect(idsOf(await collect(logs.log.readStream(stream)))).toEqual(idsOf(winners.flat()));
    });

    it('of 64 appenders who try again after a conflict lose nothing and double nothing', async () => {
      const stream = newStream();
      const proposals = Array.from({ length: 64 }, () => events(2));

      await Promise.all(
        proposals.map((proposed, index) => appendAnyhow(index % 2 ? logs.log : logs.other, stream, proposed)),
      );

      const recorded = await collect(logs.log.readStream(stream));
      expect(idsOf(recorded).sort()).toEqual(idsOf(proposals.flat()).sort());
      expect(recorded.map(({ revision }) => revision)).toEqual(recorded.map((_, index) => index));
      for (let index = 0; index < recorded.length; index += 2)
        expect(proposals.map((proposed) => idsOf(proposed))).toContainEqual(idsOf(recorded.slice(index, index + 2)));
    });

    it('are decided each by itself: one conflict fails no other', async () => {
      const streams = Array.from({ length: 20 }, newStream);
      const taken = streams.filter((_, index) => index % 3 === 0);
      for (const stream of taken) await written(logs.log, stream, NO_STREAM, events(1));

      const results = await Promise.all(streams.map((stream) => logs.log.append(stream, NO_STREAM, events(2))));

      expect(results.map(({ type }) => type)).toEqual(
        streams.map((stream) => (taken.includes(stream) ? 'conflict' : 'appended')),
      );
      for (const [index, stream] of streams.entries())
        expect(await collect(logs.log.readStream(stream))).toHaveLength(index % 3 === 0 ? 1 : 2);
    });

    it('are visible whole or not at all', async () => {
      const stream = newStream();
      let isWriting = true;
      const sizes = new Set<number>();
      const reading = (async () => {
        while (isWriting) sizes.add((await collect(logs.other.readStream(stream))).length);
      })();
      let expected = NO_STREAM;
      // On until the reader has seen the stream grow, however seldom it gets its turn.
      for (let round = 0; round < 30 || (sizes.size < 2 && round < 2_000); round++)
        expected = (await written(logs.log, stream, expected, events(10))).lastRevision;
      isWriting = false;
      await reading;

      expect(sizes.size).toBeGreaterThan(1);
      expect([...sizes].filter((size) => size % 10 !== 0)).toEqual([]);
    });
  });
}
