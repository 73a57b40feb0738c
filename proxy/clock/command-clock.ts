import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { proxyId } from '../../contracts/ids.ts';
import { behindWhatIsKnown } from './clock-watch.ts';
import { newestEvent } from './newest-event.ts';
import { ServerSkew } from './server-skew.ts';

interface CommandClock {
  readonly wall: () => number;
  readonly monotonic: () => number;
  readonly bounds: Configuration['clock'];
}

/** Commands have no name of their own; what they compare clocks by stands in one stream. */
const COMMANDS = proxyId('commands');

/**
 * Why a command must not write by the clock of this machine, by the comparisons that a gateway makes; null where it may.
 * Where the log's server stamps what it takes, its clock tells in both directions. Elsewhere only a clock behind the
 * ledger's newest event is known to be wrong: one that is ahead may follow a time in which nothing happened.
 * @throws EventLogError when the log does not answer
 */
export async function compareCommandClock(log: EventLog, clock: CommandClock): Promise<string | null> {
  const { wall, monotonic, bounds } = clock;
  const newest = await newestEvent(log);
  if (newest === null || newest.atMs === null) return null;
  if (!newest.isStamped)
    return behindWhatIsKnown(wall(), newest.atMs, { jumpMs: bounds.jumpMs, what: "the ledger's newest event" });
  // Few commands need it: what a command loads, it waits for.
  const { default: pino } = await import('pino');
  const skew = new ServerSkew({
    log,
    proxy: COMMANDS,
    now: wall,
    monotonic,
    jumps: () => 0,
    mayCompare: () => true,
    skewMs: bounds.skewMs,
    // What it finds is the command's to say.
    logger: pino({ level: 'silent' }),
  });
  return skew.compareNow();
}
