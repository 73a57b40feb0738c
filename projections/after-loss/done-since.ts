import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, LEDGER_STREAM, type Position } from '../../contracts/ids.ts';
import { readAccountEvents } from '../../ledger/account/load-account.ts';

/** Where something is known to have been in force: a generation of the ledger, and a revision of the account in it. */
export interface InForce {
  readonly generation: number;
  readonly revision: number;
}

/**
 * Whether an account has an event, such as its reinstatement, after something was in force that it lifts. What stands behind the event that
 * began a later generation is later than all of the generation before, whatever its revision: the ledger was put back in
 * between. Within a generation, and only in a ledger that has it, revisions tell. A reinstatement lifts any suspension,
 * as it does where nothing was lost. @throws EventLogError
 */
export async function isDoneSince(
  log: EventLog,
  accountId: AccountId,
  known: InForce,
  isIt: (event: AccountEvent) => boolean,
): Promise<boolean> {
  const { hasGeneration, end } = await generationIn(log, known.generation);
  for await (const { recorded, event } of readAccountEvents(log, accountId)) {
    if (!isIt(event)) continue;
    if (recorded.position > end || (hasGeneration && recorded.revision > known.revision)) return true;
  }
  return false;
}

/** Whether a ledger has what a generation wrote into it, and the position at which a later one began. */
async function generationIn(log: EventLog, generation: number) {
  let hasGeneration = generation === 1;
  let end: Position | typeof Number.POSITIVE_INFINITY = Number.POSITIVE_INFINITY;
  for await (const recorded of log.readStream(LEDGER_STREAM)) {
    const event = decodeEvent(recorded);
    if (event.type !== 'LossAccepted') continue;
    if (event.data.generation === generation) hasGeneration = true;
    if (event.data.generation > generation && end === Number.POSITIVE_INFINITY) end = recorded.position;
  }
  return { hasGeneration, end };
}
