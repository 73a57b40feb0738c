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
