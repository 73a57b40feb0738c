import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../../contracts/event-log.ts';
import { accountId, accountStream, eventId, position, revision } from '../../../../contracts/ids.ts';
import { told } from '../../../../proxy/program/ledger/log-with-progress.ts';
import { newId } from '../../../fixtures/ledger/shared-log.ts';

/** Events whose positions are so many apart, as bytes are. */
function* events(count: number, step: number, after = 0): Generator<RecordedEvent> {
  const text = { id: eventId(newId()), type: 'T', data: '{}', metadata: '{}', stream: accountStream(accountId('a')) };
  for (let at = 0; at < count; at++)
    yield { ...text, revision: revision(at), position: position(after + (at + 1) * step) };
}

/** What a progress is told of a reading, and how often it is ended. */
async function tellingsOf(count: number, step: number, { after = 0, leaveAt = Number.POSITIVE_INFINITY } = {}) {
  const tellings: (readonly [number, number])[] = [];
  let [ends, lookups, read] = [0, 0, 0];
  const progress = {
    add: (done: number, of: number) => void tellings.push([done, of]),
    end: () => void ends++,
  };
  const head = async () => {
    lookups++;
    return after + count * step;
  };
  for await (const _event of told(events(count, step, after), { progress, after, head })) if (++read === leaveAt) break;
  return { tellings, ends, lookups, read };
}

it.each([1, 700])(
  'how many there will be is told by positions that are %i apart, from where reading begins',
  async (step) => {
    const of = 10_000;
    const whole = {
      tellings: [
        [4_096, of],
        [4_096, of],
      ],
      ends: 1,
      lookups: 1,
      read: of,
    };
    expect(await tellingsOf(of, step)).toEqual(whole);
    expect(await tellingsOf(of, step, { after: 123_456 * step })).toEqual(whole);
  },
);

it('few events are not told of, nor is it looked up how many there are', async () => {
  expect(await tellingsOf(4_000, 1)).toEqual({ tellings: [], ends: 1, lookups: 0, read: 4_000 });
});

it('whoever leaves ends what is told', async () => {
  expect(await tellingsOf(10_000, 1, { leaveAt: 5_000 })).toMatchObject({ tellings: [[4_096, 10_000]], ends: 1 });
});
