import { existsSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountStream, type KeyId, revision } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import { activeLeases, setAsideForKey, setAsideForMember, sumOfLeases } from '../../../ledger/account/leases.ts';
import { keysOfMember } from '../../../ledger/account/members.ts';
import type { LimitScope } from '../../../ledger/account/spend-limits.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { pause } from '../../../ledger/pause.ts';
import { readRecovered } from '../../../ledger/settlement/read-recovered.ts';
import { accountAfter, type Done } from './run-account-command.ts';

/** Of the account, or of one of its members or keys. */
interface AccountLimit extends LimitScope {
  readonly accountId: AccountId;
}

/**
 * What was set aside, of the account's credit, or for the member or the key, for requests that were admitted before every proxy knew of
 * a limit that was set: it may still be spent, and no more than it beyond the limit. In micro-USD.
 *
 * Several proxies set it aside as leases. One proxy alone has it in its journal, as the holds of the requests that it has
 * under way; null where that is not in the data folder that is configured here, or does not say. @throws EventLogError
 */
export async function setAsideBefore(
  scope: AccountLimit,
  done: Done,
  { log, configuration, nowMs }: { log: EventLog; configuration: Configuration; nowMs: number },
): Promise<MicroUsd | null> {
  if (configuration.proxies === 'many') return leasedBefore(scope, done, nowMs);
  const folder = journalFolder(configuration.data);
  // Where the ledger is in the same folder, no gateway has been there yet.
  if (!existsSync(folder)) return configuration.eventLog.kind === 'sqlite' ? microUsd(0n) : null;
  await pause(LIMITS.limitKnownMs);
  // The journal first: what leaves it meanwhile is in the ledger by then, and what is in both counts twice at most.
  const concerns = concernsIn(scope, done);
  const held = heldInJournal(folder, scope.accountId, concerns, nowMs);
  return held === null ? null : microUsd(held + (await debitedSince(log, scope.accountId, concerns, done)));
}

function leasedBefore({ keyId, member }: AccountLimit, done: Done, nowMs: number): MicroUsd {
  const account = accountAfter(done);
  if (account.type === 'unopened') return microUsd(0n);
  const leases = activeLeases(account, nowMs);
  if (keyId !== null) return setAsideForKey(account, keyId, leases);
  return member === null ? sumOfLeases(leases) : setAsideForMember(account, member, leases);
}

/** Whether the limit is one of what a key spends. */
function concernsIn({ keyId, member }: AccountLimit, done: Done): (key: KeyId) => boolean {
  if (keyId !== null) return (key) => key === keyId;
  const account = accountAfter(done);
  if (member === null || account.type === 'unopened') return () => true;
  const keys = new Set(keysOfMember(account, member));
  return (key) => keys.has(key);
}

/** Null where a request is from before its hold was kept. */
function heldInJournal(
  folder: string,
  accountId: AccountId,
  concerns: (key: KeyId) => boolean,
  nowMs: number,
): bigint | null {
  let held = 0n;
  for (const request of readBesideGateway(folder)) {
    const { started } = readRecovered(request, nowMs);
    if (started.accountId !== accountId || !concerns(started.keyId)) continue;
    if (started.hold === undefined) return null;
    held += started.hold;
  }
  return held;
}

/** What requests have been debited behind the event that set the limit. */
async function debitedSince(
  log: EventLog,
  accountId: AccountId,
  concerns: (key: KeyId) => boolean,
  { revision: at }: Done,
): Promise<bigint> {
  let debited = 0n;
  for await (const recorded of log.readStream(accountStream(accountId), { from: revision(at + 1) })) {
    const event = decodeEvent(recorded);
    if (event.type === 'CreditsDebited' && concerns(event.data.keyId)) debited += event.data.amount;
  }
  return debited;
}
