import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms } from '../../../contracts/event-forms.ts';
import { commandId, NO_STREAM, proxyId, proxyStream, revision, uuidV7 } from '../../../contracts/ids.ts';
import { readClaims, standingOf } from '../../../ledger/forms/claims.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const OLD = null;
const NEW: Forms = { PlanChanged: 2 };
type Said = readonly [proxy: string, reads: Forms | null, ended?: true];

/** A claim a second, from 0 on. */
async function logOf(...said: readonly Said[]): Promise<MemoryEventLog> {
  const log = new MemoryEventLog();
  for (const [second, [name, reads, ended]] of said.entries()) {
    const proxy = proxyId(name);
    const stream = proxyStream(proxy);
    const at = log.events.filter((event) => event.stream === stream).length;
    const claimedAt = new Date(second * 1_000).toISOString();
    const recording = { commandId: commandId(uuidV7(second, new Uint8Array(10))), actor: name, recordedAt: claimedAt };
    const data = { proxy, epoch: at + 1, instance: `${second}`, claimedAt };
    const more = reads === null ? {} : { reads, ...(ended === undefined ? {} : { ended }) };
    const events = encodeEvents([{ type: 'ProxyClaimed', data }], { ...recording, ...more });
    await log.append(stream, at === 0 ? NO_STREAM : revision(at - 1), events);
  }
  return log;
}

it.each<[string, readonly Said[], readonly string[], number | null]>([
  ['nobody has claimed anything', [], [], null],
  [
    'all have always read it',
    [
      ['a', NEW],
      ['b', NEW],
    ],
    [],
    0,
  ],
  [
    'one of before is not upgraded',
    [
      ['a', OLD],
      ['b', OLD],
      ['a', NEW],
    ],
    ['b'],
    2_000,
  ],
  [
    'all are upgraded',
    [
      ['a', OLD],
      ['b', OLD],
      ['a', NEW],
      ['b', NEW],
    ],
    [],
    3_000,
  ],
  [
    'one is rolled back',
    [
      ['a', OLD],
      ['a', NEW],
      ['b', NEW],
      ['a', OLD],
    ],
    ['a'],
    1_000,
  ],
  [
    'one was rolled back and is upgraded again',
    [
      ['a', NEW],
      ['b', NEW],
      ['a', OLD],
      ['a', NEW],
    ],
    [],
    3_000,
  ],
  [
    'one that does not read it has stopped for good',
    [
      ['a', NEW],
      ['b', {}],
      ['b', {}, true],
    ],
    [],
    2_000,
  ],
  [
    'one that reads it has stopped',
    [
      ['a', NEW],
      ['b', NEW],
      ['b', NEW, true],
    ],
    [],
    0,
  ],
  [
    'one of before starts where a newer has stopped',
    [
      ['a', NEW],
      ['a', NEW, true],
      ['a', OLD],
    ],
    ['a'],
    0,
  ],
])('who is in the way of a form, and since when nobody is: %s', async (_what, said, inTheWay, sinceMs) => {
  const standing = standingOf(await readClaims(await logOf(...said)), { ...BASE_FORMS, ...NEW });
  expect(standing.inTheWay.map(({ proxy }) => proxy)).toEqual(inTheWay);
  expect(standing.sinceMs).toBe(sinceMs);
});

it('claims are read on from where they were read to', async () => {
  const log = await logOf(['a', OLD], ['b', NEW], ['a', NEW]);
  const [first, ...others] = await readClaims(log);
  expect(await readClaims(log, first?.position)).toEqual(others);
});
