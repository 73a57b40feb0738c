import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeedEvent } from '../../../contracts/feed-message.ts';
import { eventId, NO_STREAM, position, type Revision, revision, type StreamName } from '../../../contracts/ids.ts';
import { FeedGapError, newEvents } from '../../../ledger/feed/new-events.ts';

const event = (stream: string, at: number): FeedEvent => ({
  stream: stream as StreamName,
  revision: revision(at),
  position: position(at),
  id: eventId(`${stream}-${at}`),
  type: 'PlanChanged',
  data: '{}',
  metadata: '{}',
  relayEpoch: 1,
  ledger: null,
});
const revisionsOf = (events: readonly FeedEvent[]): number[] => events.map(({ revision: at }) => at);

describe('the new events of a batch', () => {
  it('are those behind the last revision of their stream, each once', () => {
    const batch = [event('a', 3), event('a', 4), event('b', 0), event('a', 4), event('a', 5), event('b', 0)];
    const last = new Map([['a', revision(3)]]);
    const { events, revisions } = newEvents(batch, (stream) => last.get(stream) ?? NO_STREAM);
    expect(events.map(({ stream, revision: at }) => `${stream} ${at}`)).toEqual(['a 4', 'b 0', 'a 5']);
    expect([...revisions]).toEqual([
      ['a', 5],
      ['b', 0],
    ]);
  });

  it('raise where one is missing, and say which', () => {
    const raise = () => newEvents([event('a', 0), event('a', 2)], () => NO_STREAM);
    expect(raise).toThrow(FeedGapError);
    expect(raise).toThrow('a has a gap in the feed: revision 2 came where 1 is next');
  });

  it('raise where a stream that nothing is known of does not begin with its first event', () => {
    expect(() => newEvents([event('a', 1)], () => NO_STREAM)).toThrow(FeedGapError);
  });

  it('begin anywhere where it is not known what was taken before', () => {
    expect(revisionsOf(newEvents([event('a', 7), event('a', 8), event('a', 7)], () => null).events)).toEqual([7, 8]);
  });

  it('are all events once and in order, however a feed repeats itself and however it is cut into batches', () => {
    // A relay that is killed goes back to some point that it had passed, and goes on from there.
    const restarts = fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 6 });
    fc.assert(
      fc.property(restarts, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (runs, cuts) => {
        const sent: FeedEvent[] = [];
        let reached = 0;
        for (const [back, forth] of [...runs, [0, 5] as const]) {
          const from = Math.max(0, reached - back);
          for (let at = from; at < from + forth; at++) sent.push(event('a', at));
          reached = Math.max(reached, from + forth);
        }
        let last: Revision = NO_STREAM;
        const taken: number[] = [];
        for (let at = 0, cut = 0; at < sent.length; cut++) {
          const size = cuts[cut % cuts.length] ?? 1;
          const { events, revisions } = newEvents(sent.slice(at, at + size), () => last);
          taken.push(...revisionsOf(events));
          last = revisions.get('a' as StreamName) ?? last;
          at += size;
        }
        expect(taken).toEqual(Array.from({ length: reached }, (_, at) => at));
      }),
    );
  });
});
