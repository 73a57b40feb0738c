import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, commandId, position, revision } from '../../../contracts/ids.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';

/** Events as a log has them in an account's stream, a second apart. */
export function storedLife(events: readonly AccountEvent[], fromMs = Date.UTC(2026, 10, 5, 10)): RecordedEvent[] {
  const uuid = commandId('019a5b3c-0000-7000-8000-00000000000a');
  return events.flatMap((event, at) => {
    const recordedAt = new Date(fromMs + at * 1_000).toISOString();
    return encodeEvents([event], { commandId: uuid, actor: 'operator', recordedAt }).map((proposed) => ({
      ...proposed,
      stream: accountStream(ACCOUNT),
      revision: revision(at),
      position: position(at),
    }));
  });
}
