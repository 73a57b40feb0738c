import type { EventLog, ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, type Position, position, type StreamName } from '../../contracts/ids.ts';
import { readRelayState } from '../relay/relay-state.ts';
import { standBy } from '../relay/stand-by.ts';
import { COPY_LIMITS } from './limits.ts';

interface CarryOptions {
  readonly relays: ReadonlySet<StreamName>;
  readonly clock: () => number;
  /** The claim of a relay has not been given back, and is waited for until it is over. */
  readonly onWait: (relay: string) => void;
}

/**
 * How far each relay has published stands in its stream as a position of the log that the ledger leaves. Behind what was copied
 * the same is written as a position of the target, under a claim that is given back at once: the next relay goes on from there.
 * @throws EventLogError; RelayFencedError where a relay has claimed the feed in the target
 */
export async function carryRelays(source: ReadableLog, target: EventLog, options: CarryOptions): Promise<void> {
  const moved = await newestOf(target, LEDGER_STREAM);
  for (const stream of options.relays) {
    const { checkpoint } = await readRelayState(source, stream);
    const newest = await newestOf(target, stream);
    const isCarried = newest?.type === 'RelayReleased' && moved !== null && newest.position > moved.position;
    if (checkpoint === null || isCarried) continue;
    const claim = await standBy({
      ...{ log: target, feed: stream.slice('relay-'.length), relay: 'gateway ledger copy' },
      ...{ claimMs: COPY_LIMITS.relayClaimMs, clock: options.clock, signal: new AbortController().signal },
      ...{ onState: () => undefined, onOther: options.onWait, onLogAway: () => undefined },
      mayClaim: async () => true,
    });
    await claim?.checkpoint(await placeIn(source, target, checkpoint));
    await claim?.release();
  }
}

/** Null where the source has no such place: everything is published once more, which readers drop. */
async function placeIn(source: ReadableLog, target: ReadableLog, at: Position): Promise<Position | null> {
  const after = at === 0 ? null : position(at - 1);
  for await (const published of source.readAll({ after, limit: 1 })) {
    if (published.position !== at) return null;
    const options = { from: published.revision, limit: 1 };
    for await (const same of target.readStream(published.stream, options)) return same.position;
  }
  return null;
}

async function newestOf(log: ReadableLog, stream: StreamName): Promise<RecordedEvent | null> {
  for await (const event of log.readStream(stream, { direction: 'backwards', limit: 1 })) return event;
  return null;
}
