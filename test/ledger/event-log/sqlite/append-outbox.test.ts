import { describe, expect, it } from 'vitest';
import type { StreamName } from '../../../../contracts/ids.ts';
import { AppendOutbox } from '../../../../ledger/event-log/sqlite/append-outbox.ts';
import { SQLITE_LIMITS } from '../../../../ledger/event-log/sqlite/limits.ts';
import { events } from '../../../fixtures/ledger/shared-log.ts';

const { groupEventsMax, groupCharsMax } = SQLITE_LIMITS;

function put(outbox: AppendOutbox, expected: number, count: number, chars: number): void {
  const ignored = (): void => undefined;
  const stream = 'account-1' as StreamName;
  outbox.push({ stream, expected, events: events(count), chars, resolve: ignored, reject: ignored });
}

const taken = (outbox: AppendOutbox): number[] => outbox.takeGroup().appends.map(({ expected }) => expected);

describe('the outbox', () => {
  it('gives what waits as one group, in order, as one flat message', () => {
    const outbox = new AppendOutbox();
    put(outbox, 4, 1, 10);
    put(outbox, 9, 2, 10);
    const { appends, message } = outbox.takeGroup();
    expect(appends.map(({ expected }) => expected)).toEqual([4, 9]);
    const fields = appends.map((append) =>
      append.events.flatMap(({ id, type, data, metadata }) => [id, type, data, metadata]),
    );
    expect(message).toEqual([4, 1, 'account-1', ...(fields[0] ?? []), 9, 2, 'account-1', ...(fields[1] ?? [])]);
    expect(outbox.isEmpty).toBe(true);
  });

  it('gives no more events than a group holds, and keeps the rest in order', () => {
    const outbox = new AppendOutbox();
    for (let index = 0; index < 5; index++) put(outbox, index, groupEventsMax / 2, 10);
    expect(outbox.isFull).toBe(true);
    expect(taken(outbox)).toEqual([0, 1]);
    expect(outbox.isFull).toBe(true);
    expect(taken(outbox)).toEqual([2, 3]);
    expect(outbox.isFull).toBe(false);
    expect(outbox.isEmpty).toBe(false);
    expect(taken(outbox)).toEqual([4]);
    expect(outbox.isEmpty).toBe(true);
  });

  it('gives no more text than a group holds', () => {
    const outbox = new AppendOutbox();
    for (let index = 0; index < 3; index++) put(outbox, index, 1, groupCharsMax * 0.4);
    expect(outbox.isFull).toBe(true);
    expect(taken(outbox)).toEqual([0, 1]);
    expect(outbox.isFull).toBe(false);
    put(outbox, 3, 1, groupCharsMax);
    expect(taken(outbox)).toEqual([2]);
    expect(taken(outbox)).toEqual([3]);
  });
});
