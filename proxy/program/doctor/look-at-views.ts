import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { Position } from '../../../contracts/ids.ts';
import { groupedCount } from '../../../contracts/money.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough, VIEWS_FILE } from '../../../projections/known-views.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { timeOf } from '../../clock/newest-event.ts';
import { describeDamage } from '../ledger/proven-ledger.ts';
import { type Examined, type Found, fault, ok, warn } from './finding.ts';

/** With more the number says no more. */
const COUNTED_MAX = 10_000;

/** How far the views' file lags behind the log. */
export async function lookAtViews(log: EventLog, { context, configuration, isServed }: Examined): Promise<Found> {
  const { data, projections } = configuration;
  const file = join(data, VIEWS_FILE);
  if (!existsSync(file)) return warn('there are none yet', 'the next start makes them from the log');
  const looked = readUndamaged(file, () => readFoldedThrough(file));
  if (looked.damage !== null) return warn(describeDamage(data, looked.damage));
  const through = looked.read?.position ?? null;
  if (through === null)
    return isServed ? ok('nothing of them is written yet') : warn('they hold nothing yet', 'the next start makes them');
  const { count, sinceMs } = await beyond(log, through);
  if (count === 0) return ok(`up to position ${through}, the newest`);
  const agoMs = sinceMs === null ? 0 : Math.max(0, context.clock() - sinceMs);
  const many = count > COUNTED_MAX ? `more than ${groupedCount(COUNTED_MAX)}` : groupedCount(count);
  const says = `up to position ${through}; ${many} events behind, the first of them ${lengthOf(agoMs)} old`;
  // As old as that, a gateway admits nothing by them.
  if (isServed && agoMs > projections.maxAgeMs)
    return fault(says, 'look at the log of the gateway: its views do not follow');
  return isServed ? ok(says) : warn(says, 'the next start reads on from there');
}

async function beyond(log: EventLog, after: Position): Promise<{ count: number; sinceMs: number | null }> {
  let count = 0;
  let sinceMs: number | null = null;
  for await (const event of log.readAll({ after, limit: 1 })) sinceMs = timeOf(event).atMs;
  if (sinceMs !== null) for await (const _ of log.readAll({ after, limit: COUNTED_MAX + 1, placesOnly: true })) count++;
  return { count, sinceMs };
}
