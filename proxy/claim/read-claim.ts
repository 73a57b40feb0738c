import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { type ProxyId, proxyStream, type Revision } from '../../contracts/ids.ts';

export interface RecordedClaim extends EventData<'ProxyClaimed'> {
  readonly revision: Revision;
}

/** The last claim of a name; null where nobody has claimed it. @throws EventLogError, UnreadableEventError */
export async function readClaim(log: EventLog, proxy: ProxyId): Promise<RecordedClaim | null> {
  for await (const recorded of log.readStream(proxyStream(proxy), { direction: 'backwards' })) {
    const event = decodeEvent(recorded);
    if (event.type !== 'ProxyClaimed') throw new TypeError(`${recorded.stream} has ${recorded.type}, no claim`);
    return { ...event.data, revision: recorded.revision };
  }
  return null;
}
