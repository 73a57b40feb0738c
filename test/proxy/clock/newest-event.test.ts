import { expect, it } from 'vitest';
import { accountId, accountStream } from '../../../contracts/ids.ts';
import { newestEvent } from '../../../proxy/clock/newest-event.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { proposed } from '../../ledger/relay/ledger-file.ts';

it.each(['', '{"cut', '{}'])('an event whose metadata is %j tells no time, and ends nothing', async (metadata) => {
  const log = new MemoryEventLog();
  log.write(
    accountStream(accountId('ada')),
    proposed(1).map((event) => ({ ...event, metadata })),
  );
  expect(await newestEvent(log)).toEqual({ atMs: null, isStamped: false });
});

it.each([1, 2, 3])('is the last of %d, and tells when it was written', async (events) => {
  const log = new MemoryEventLog();
  const writtenAt = (day: number) => `2026-11-0${day}T10:00:00.000Z`;
  for (let day = 1; day <= events; day++)
    log.write(
      accountStream(accountId('ada')),
      proposed(1).map((event) => ({
        ...event,
        metadata: JSON.stringify({ ...JSON.parse(event.metadata), recordedAt: writtenAt(day) }),
      })),
    );
  expect(await newestEvent(log)).toEqual({ atMs: Date.parse(writtenAt(events)), isStamped: false });
});
