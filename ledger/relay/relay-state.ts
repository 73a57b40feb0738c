import { decodeEvent } from '../../contracts/event-codec.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { RelayEvent } from '../../contracts/events.ts';
import { NO_STREAM, type Position, position, type Revision, type StreamName } from '../../contracts/ids.ts';

/** What a relay's stream says: who may publish, and how far it has come. */
export interface RelayState {
  readonly revision: Revision;
  /** Of the last claim; 0 before the first. */
  readonly epoch: number;
  /** Null where there was none, or it was released. */
  readonly leader: { readonly relay: string; readonly untilMs: number } | null;
  /** Everything up to here is acknowledged; null is nothing. */
  readonly checkpoint: Position | null;
}

/**
 * Reads the state: from the end back to the last checkpoint, which is not far, since a claim is renewed by one.
 * @throws EventLogError, UnreadableEventError
 */
export async function readRelayState(log: ReadableLog, stream: StreamName): Promise<RelayState> {
  const latest: RecordedEvent[] = [];
  for await (const event of log.readStream(stream, { direction: 'backwards' })) {
    latest.push(event);
    if (event.type === 'RelayCheckpointed') break;
  }
  let state: RelayState = { revision: NO_STREAM, epoch: 0, leader: null, checkpoint: null };
  for (const event of latest.reverse()) state = evolve(state, event);
  return state;
}

function evolve(state: RelayState, recorded: RecordedEvent): RelayState {
  const event = decodeEvent(recorded) as RelayEvent;
  const { revision } = recorded;
  switch (event.type) {
    case 'RelayClaimed':
      return { ...state, revision, epoch: event.data.epoch, leader: leaderOf(event.data) };
    case 'RelayCheckpointed':
      return {
        revision,
        epoch: event.data.epoch,
        leader: leaderOf(event.data),
        checkpoint: checkpointOf(event.data.position),
      };
    case 'RelayReleased':
      return { ...state, revision, epoch: event.data.epoch, leader: null };
    default:
      throw new TypeError(`${recorded.stream} revision ${revision} is ${recorded.type}, no event of a relay`);
  }
}

/** 0 is written when a topic is filled anew: nothing is acknowledged. */
const checkpointOf = (value: number): Position | null => (value === 0 ? null : position(value));

const leaderOf = ({ relay, until }: { relay: string; until: string }): RelayState['leader'] => ({
  relay,
  untilMs: Date.parse(until),
});
