import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  commandId,
  grantId,
  NO_STREAM,
  uuidV7,
} from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { type AccountRepository, foldAppended } from '../../../ledger/account/account-repository.ts';

const APPENDS_AT_ONCE = 64;
/** More than any run can spend: 1,000,000 USD. */
const CREDIT = microUsd(1_000_000_000_000n);

/** Opens accounts with credits for any number of requests, in the log and in the repository. */
export async function openBenchAccounts(
  log: EventLog,
  repository: AccountRepository,
  { prefix, count }: { readonly prefix: string; readonly count: number },
): Promise<AccountId[]> {
  const ids = Array.from({ length: count }, (_, index) => accountId(`${prefix}-${index}`));
  for (let from = 0; from < count; from += APPENDS_AT_ONCE)
    await Promise.all(ids.slice(from, from + APPENDS_AT_ONCE).map((id) => openOne(log, repository, id)));
  return ids;
}

async function openOne(log: EventLog, repository: AccountRepository, id: AccountId): Promise<void> {
  const nowMs = Date.now();
  const events = birthOf(id, new Date(nowMs).toISOString());
  const command = commandId(uuidV7(nowMs, crypto.getRandomValues(new Uint8Array(10))));
  const proposed = encodeEvents(events, {
    commandId: command,
    actor: 'operator',
    recordedAt: new Date(nowMs).toISOString(),
  });
  const result = await log.append(accountStream(id), NO_STREAM, proposed);
  if (result.type === 'conflict') throw new Error(`${id} is there already: the log is not a fresh one`);
  foldAppended(repository, id, NO_STREAM, events);
}

const birthOf = (id: AccountId, at: string): AccountEvent[] => [
  {
    type: 'AccountOpened',
    data: { accountId: id, kind: 'organization', email: 'bench@example.com', openedAt: at, product: 'gateway' },
  },
  {
    type: 'CreditsGranted',
    data: {
      grantId: grantId(`${id}-credit`),
      source: 'purchase',
      amount: CREDIT,
      costBasis: CREDIT,
      priority: 100,
      effectiveAt: at,
      expiresAt: null,
    },
  },
];
