import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '../../../contracts/event-log.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough, VIEWS_FILE } from '../../../projections/known-views.ts';
import { reachedIn } from '../../../projections/log-view-source.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { describeDamage } from '../ledger/proven-ledger.ts';
import { lagBehind, lagInWords } from '../projections/views-lag.ts';
import { type Examined, type Found, fault, ok, warn } from './finding.ts';

/** How far the views' file lags behind the log. */
export async function lookAtViews(log: EventLog, { context, configuration, isServed }: Examined): Promise<Found> {
  const { data, projections } = configuration;
  const file = join(data, VIEWS_FILE);
  if (!existsSync(file)) return warn('there are none yet', 'the next start makes them from the log');
  const looked = readUndamaged(file, () => readFoldedThrough(file));
  if (looked.damage !== null) return warn(describeDamage(data, looked.damage));
  const through = looked.read === null ? null : await reachedIn(log, looked.read);
  if (through === null)
    return isServed ? ok('nothing of them is written yet') : warn('they hold nothing yet', 'the next start makes them');
  const lag = await lagBehind(log, through);
  if (lag.events === 0) return ok(`up to position ${through}, the newest`);
  const agoMs = lag.sinceMs === null ? 0 : Math.max(0, context.clock() - lag.sinceMs);
  const says = `up to position ${through}; ${lagInWords(lag)} events behind, the first of them ${lengthOf(agoMs)} old`;
  // As old as that, a gateway admits nothing by them.
  if (isServed && agoMs > projections.maxAgeMs)
    return fault(says, 'look at the log of the gateway: its views do not follow');
  return isServed ? ok(says) : warn(says, 'the next start reads on from there');
}
