import { createHash } from 'node:crypto';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { commandId, NO_STREAM, reconciliationStream, uuidV7 } from '../../contracts/ids.ts';

/** Tries against others that record at the same time. */
const ATTEMPTS = 5;

/**
 * Writes down what a comparison has shown; false where that stands there already. The event's id is made of what it says, so
 * the same report with the same result is recorded once. @throws EventLogError; Error where others write again and again
 */
export async function recordReconciliation(
  log: EventLog,
  data: EventData<'ProviderReconciled'>,
  recording: Omit<Recording, 'commandId'>,
): Promise<boolean> {
  const stream = reconciliationStream(data.provider);
  const said = JSON.stringify(data, (_name, value) => (typeof value === 'bigint' ? value.toString() : value));
  const digest = createHash('sha256').update(said).digest();
  const id = commandId(uuidV7(Date.parse(data.from), digest));
  const events = encodeEvents([{ type: 'ProviderReconciled', data }], { ...recording, commandId: id });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    let last = NO_STREAM;
    for await (const event of log.readStream(stream)) {
      if (event.id === events[0]?.id) return false;
      last = event.revision;
    }
    const { type } = await log.append(stream, last, events);
    if (type === 'appended') return true;
  }
  throw new Error(`others have written to the stream ${stream} ${ATTEMPTS} times in between`);
}
