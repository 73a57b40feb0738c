import { type ReadableLog, type RecordedEvent, unlessHidden } from '../../contracts/event-log.ts';
import { type AccountId, accountId, accountStream, type Revision, revision } from '../../contracts/ids.ts';
import { AccountsSetAside } from '../accounts-set-aside.ts';
import { isOfKey } from '../key-index.ts';
import { numberOf, textOf } from '../view.ts';
import type { LiveRows } from './live-rows.ts';

/** An event that gives an account a key, and of which no row has anything. */
export interface KeyBehind {
  readonly id: AccountId;
  readonly recorded: RecordedEvent;
}

type ReadLog = Pick<ReadableLog, 'readStream'>;

/**
 * The keys that accounts were given from the event on for which they are set aside, in the order of the log: a secret is that of
 * the key that has it first, also there. Of a stream that the log's server hides nobody can tell. @throws EventLogError
 */
export async function keysBehindAside(live: LiveRows, log: ReadLog): Promise<KeyBehind[]> {
  const [table] = new AccountsSetAside().tables;
  const found: KeyBehind[] = [];
  for (const [id, , from] of live.has(table) ? live.rows(table) : []) {
    // What the log's server hides is no event of theirs.
    if (numberOf(from) < 0) continue;
    found.push(...(await unlessHidden(keysIn(log, accountId(textOf(id)), revision(numberOf(from))), [])));
  }
  return found.toSorted(({ recorded: one }, { recorded: other }) => one.position - other.position);
}

async function keysIn(log: ReadLog, id: AccountId, from: Revision): Promise<KeyBehind[]> {
  const found: KeyBehind[] = [];
  for await (const recorded of log.readStream(accountStream(id), { from }))
    if (isOfKey(recorded.type)) found.push({ id, recorded });
  return found;
}
