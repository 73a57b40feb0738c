import { type EventLog, isLogAway } from '../../contracts/event-log.ts';
import { relayStream } from '../../contracts/ids.ts';
import { BackOff } from '../back-off.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { pause } from '../pause.ts';
import { RELAY_LIMITS } from './limits.ts';
import { type ClaimOptions, RelayClaim } from './relay-claim.ts';
import { type RelayState, readRelayState } from './relay-state.ts';

interface StandByOptions extends ClaimOptions {
  /** Called with the state each time it has been looked at. */
  readonly onState: (state: RelayState) => void;
  /** Called when another relay is found to be the active one, once for each. */
  readonly onOther: (relay: string) => void;
  readonly onLogAway: (error: Error) => void;
  /** Asked when the feed is free: who cannot reach Kafka leaves it to others. */
  readonly mayClaim: () => Promise<boolean>;
}

/**
 * Waits until the feed is free and claims it: at once when the claim was released or there is none, else when it has
 * been over for longer than clocks may differ. One read of the stream's end a second. Null when told to stop.
 */
export async function standBy(options: StandByOptions): Promise<RelayClaim | null> {
  const { log, signal, claimMs } = options;
  const backOff = new BackOff({ ...FEED_LIMITS.backOff, maxMs: RELAY_LIMITS.lagCheckMs });
  let other = '';
  while (!signal.aborted) {
    const state = await stateOr(log, options);
    if (state === null) {
      await backOff.wait(signal);
      continue;
    }
    backOff.reset();
    options.onState(state);
    const mayClaim = isFree(state, options) && (await options.mayClaim());
    const claim = mayClaim && !signal.aborted ? await RelayClaim.take(options, state) : null;
    if (claim !== null) return claim;
    if (state.leader !== null && state.leader.relay !== other) {
      other = state.leader.relay;
      options.onOther(other);
    }
    await pause(Math.min(RELAY_LIMITS.checkMs, claimMs / RELAY_LIMITS.skewPart), signal);
  }
  return null;
}

/** Null while the log is away. */
async function stateOr(log: EventLog, { feed, onLogAway }: StandByOptions): Promise<RelayState | null> {
  try {
    return await readRelayState(log, relayStream(feed));
  } catch (error) {
    if (!isLogAway(error)) throw error;
    onLogAway(error);
    return null;
  }
}

const isFree = ({ leader }: RelayState, { clock, claimMs }: StandByOptions): boolean =>
  leader === null || clock() > leader.untilMs + claimMs / RELAY_LIMITS.skewPart;
