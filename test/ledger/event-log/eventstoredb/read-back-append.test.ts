import { expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { readBackAppend } from '../../../../ledger/event-log/eventstoredb/read-back-append.ts';
import { MemoryEventLog } from '../../../fixtures/ledger/memory-event-log.ts';
import { events, newStream } from '../../../fixtures/ledger/shared-log.ts';

const OURS = events(2);
const [first, last, other] = [OURS.slice(0, 1), OURS.slice(1), events(1)];

it.each([
  ['nothing stands there', [], null],
  ['all of it does', OURS, { type: 'appended', lastRevision: 1 }],
  ['a part of it does', first, { type: 'conflict', actualRevision: 0 }],
  ['it begins with another event', [...other, ...last], { type: 'conflict', actualRevision: 1 }],
  ['it ends with another event', [...first, ...other], { type: 'conflict', actualRevision: 1 }],
  ['something stands behind it', [...OURS, ...other], { type: 'appended', lastRevision: 1 }],
])('of an append of unknown outcome, where %s', async (_title, written, settled) => {
  const log = new MemoryEventLog();
  const stream = newStream();
  log.write(stream, written);
  const answer = await readBackAppend(log, { stream, expected: NO_STREAM, events: OURS });
  if (settled === null) expect(answer).toBeNull();
  else expect(answer).toMatchObject(settled);
});
