import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { accountOfStream } from '../../contracts/ids.ts';
import { accountEventOf } from '../../ledger/account/account-event.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { readFoldedThrough } from '../../projections/known-views.ts';
import { productsIn } from '../../projections/products-in.ts';
import { howFar } from './projections/views-lag.ts';

/** Of each account, as far as the views have them, and of each that was opened since; null between these. @throws EventLogError; Error where the views cannot be read */
export async function* knownProducts(log: EventLog, views: string): AsyncGenerator<string | null> {
  yield* productsIn(views);
  const folded = readFoldedThrough(views);
  const after = folded === null ? null : (await howFar(log, views, folded)).position;
  for await (const event of log.readAll({ after })) yield productOpened(event);
}

function productOpened(event: RecordedEvent): string | null {
  const accountId = accountOfStream(event.stream);
  if (accountId === null || event.type !== 'AccountOpened') return null;
  try {
    const opened = accountEventOf(accountId, event);
    return opened.type === 'AccountOpened' ? opened.data.product : null;
  } catch (error) {
    // Its gateway sets the account aside, which another look tells.
    if (error instanceof AccountUnreadableError) return null;
    throw error;
  }
}
