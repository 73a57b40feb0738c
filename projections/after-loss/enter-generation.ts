import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountId, type KeyId, keyId, type Revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { isAsideReason, readOrReason } from '../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { entryOf } from '../../ledger/account/keyed-tree.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { readNote, writeNote } from '../../ledger/identity/folder-note.ts';
import type { UnsettleableRequest } from '../../ledger/identity/unsettleable.ts';
import type { Journal, RecoveredRequest } from '../../ledger/journal/journal.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { replaceFile } from '../../ledger/replace-file.ts';
import { type InForce, isDoneSince } from './done-since.ts';
import { type KeptLockout, readKeptLockouts, writeKeptLockouts } from './kept-lockouts.ts';
import { setViewsAside } from './views-set-aside.ts';

interface EnterGenerationOptions {
  readonly log: EventLog;
  readonly dataFolder: string;
  readonly journal: Pick<Journal, 'settle'>;
  /** What the journal holds, and of that what the ledger cannot take. */
  readonly recovered: readonly RecoveredRequest[];
  readonly unsettleable: readonly UnsettleableRequest[];
  /** The generation that the folder goes over to. */
  readonly identity: LedgerIdentity;
  readonly nowMs: number;
  readonly actor: string;
}

/** What was written into the ledger, and where what it cannot take was put. */
export interface EnteredGeneration {
  readonly revokedKeys: readonly { readonly accountId: AccountId; readonly keyId: KeyId }[];
  /** Revoked, too, because the ledger has lost that they were rotated, and knows a secret that is not to work again. */
  readonly rotatedKeys: EnteredGeneration['revokedKeys'];
  readonly suspended: readonly AccountId[];
  /** What the folder knows to be refused, of accounts whose events cannot be relied on: nothing was written there. */
  readonly setAside: readonly LockoutAside[];
  readonly viewsSetAside: string | null;
  readonly requestsSetAside: string | null;
}

interface LockoutAside {
  readonly accountId: AccountId;
  /** In one line, why they cannot. */
  readonly whyAside: string;
  readonly revokedKeys: readonly string[];
  readonly rotatedKeys: readonly string[];
  /** Why; null where it was not. */
  readonly suspended: string | null;
}

/**
 * Takes a data folder over to a generation of its ledger that others of its kind have begun by accepting a loss. What
 * refused somebody goes on to refuse them: keys that only the folder knows as revoked, or as rotated, are revoked, and accounts that only
 * it knows as suspended are suspended, also those that generations in between have lacked (kept-lockouts.ts), but not whom
 * the ledger has reinstated since (done-since.ts). Limits are not taken over: what the ledger has is what its owner last set there.
 * Interrupted anywhere it can be done again: the folder's note, which tells that it is done, is written last. A folder
 * without one is noted first as what it is, of the generation before: without its views nothing else would tell.
 */
export async function enterGeneration(options: EnterGenerationOptions): Promise<EnteredGeneration> {
  const { dataFolder, identity, recovered, unsettleable } = options;
  const { ledgerId, generation } = identity;
  if (readNote(dataFolder) === null)
    writeNote(dataFolder, { ledgerId, generation: generation - 1, newest: null, leases: {}, earlier: [] });
  const refused = await keepLockouts(options);
  const requestsSetAside = setRequestsAside(options);
  const viewsSetAside = setViewsAside(dataFolder, generation);
  const lost = new Set(unsettleable.map(({ requestId }) => requestId));
  const earlier = recovered.flatMap(({ requestId }) => (lost.has(requestId) ? [] : [requestId]));
  writeNote(dataFolder, { ...identity, newest: null, leases: {}, earlier });
  return { ...refused, viewsSetAside, requestsSetAside };
}

/** What the ledger lacks of it is kept for the generation that has it again. Before the views that know it are set aside. */
async function keepLockouts(options: EnterGenerationOptions) {
  const revokedKeys: EnteredGeneration['revokedKeys'][number][] = [];
  const rotatedKeys: EnteredGeneration['revokedKeys'][number][] = [];
  const suspended: AccountId[] = [];
  const setAside: LockoutAside[] = [];
  const kept: KeptLockout[] = [];
  for (const refusal of readKeptLockouts(options.dataFolder)) {
    const id = accountId(refusal.accountId);
    const again = await readOrReason(lockOutAgain(options, id, refusal));
    if (isAsideReason(again)) {
      const reason = refusal.suspended?.reason ?? null;
      const rotated = refusal.rotatedKeys?.map((key) => key.keyId) ?? [];
      const refused = { revokedKeys: refusal.revokedKeys, rotatedKeys: rotated, suspended: reason };
      setAside.push({ accountId: id, whyAside: again.message, ...refused });
      kept.push({ ...refusal, suspended: keptUnseen(options, refusal) });
      continue;
    }
    revokedKeys.push(...again.keys.map((key) => ({ accountId: id, keyId: key })));
    rotatedKeys.push(...again.rotated.map((key) => ({ accountId: id, keyId: key })));
    if (again.suspension?.isDoneHere) suspended.push(id);
    const suspension = again.suspension?.kept ?? null;
    if (refusal.revokedKeys.length > 0 || suspension !== null || refusal.rotatedKeys !== undefined)
      kept.push({ ...refusal, suspended: suspension });
  }
  writeKeptLockouts(options.dataFolder, kept);
  return { revokedKeys, rotatedKeys, suspended, setAside };
}

async function lockOutAgain(
  options: EnterGenerationOptions,
  id: AccountId,
  { revokedKeys, suspended, rotatedKeys = [] }: KeptLockout,
) {
  const keys = await revokeAgain(options, id, revokedKeys.map(keyId));
  const rotated = await revokeAgain(options, id, await withOldSecret(options, id, rotatedKeys));
  return { keys, rotated, suspension: suspended && (await suspendAgain(options, id, suspended)) };
}

/** Those of which the ledger has another secret than the newest that is known, and has not rotated them since. */
async function withOldSecret(
  { log }: EnterGenerationOptions,
  id: AccountId,
  rotated: NonNullable<KeptLockout['rotatedKeys']>,
): Promise<KeyId[]> {
  const { state } = await loadAccount(log, id);
  const has = state.type === 'open' ? state.keys : null;
  const found: KeyId[] = [];
  for (const { keyId: known, sha256, inForce } of rotated) {
    const key = keyId(known);
    if ((entryOf(has, key)?.sha256 ?? sha256) === sha256) continue;
    const isRotated = (event: AccountEvent): boolean => event.type === 'ApiKeyRotated' && event.data.keyId === key;
    if (!(await isDoneSince(log, id, inForce, isRotated))) found.push(key);
  }
  return found;
}

/** Of an account of which this generation shows nothing, or nothing yet. */
const keptUnseen = ({ dataFolder }: EnterGenerationOptions, { suspended }: Pick<KeptLockout, 'suspended'>) =>
  suspended && { reason: suspended.reason, inForce: null, wasInForce: lastInForce(dataFolder, suspended) };

/** Those that were not revoked yet. A revocation is for good: nothing in the ledger can have taken it back. */
async function revokeAgain(options: EnterGenerationOptions, id: AccountId, keys: readonly KeyId[]): Promise<KeyId[]> {
  const { state } = await loadAccount(options.log, id);
  const has = state.type === 'open' ? state.keys : null;
  const revoked: KeyId[] = [];
  for (const key of keys) {
    if (entryOf(has, key)?.revokedAtMs !== null) continue;
    const done = await execute(options, id, { type: 'RevokeKey', keyId: key, nowMs: options.nowMs });
    if (done !== null) revoked.push(key);
  }
  return revoked;
}

type Suspension = NonNullable<KeptLockout['suspended']>;

/** Null where the ledger has lifted it since. One that it has already, or cannot have without the account, is kept on. */
async function suspendAgain(options: EnterGenerationOptions, id: AccountId, suspension: Suspension) {
  const { log, dataFolder, identity } = options;
  const { reason } = suspension;
  const before = await loadAccount(log, id);
  const last = lastInForce(dataFolder, suspension);
  if (before.state.type === 'unopened')
    return { kept: keptUnseen(options, { suspended: suspension }), isDoneHere: false };
  const isThere = before.state.suspended !== null;
  if (!isThere && (await isDoneSince(log, id, last, ({ type }) => type === 'AccountReinstated'))) return null;
  const done = isThere ? null : await execute(options, id, { type: 'SuspendAccount', reason });
  const revision = done ?? (isThere ? before : await loadAccount(log, id)).revision;
  return { kept: { reason, inForce: { generation: identity.generation, revision } }, isDoneHere: done !== null };
}

/** A folder from before `wasInForce` has forgotten where, of one that its ledger lacks: then it is anywhere in its generation. */
function lastInForce(dataFolder: string, { inForce, wasInForce }: Suspension): InForce {
  const generation = readNote(dataFolder)?.generation ?? 1;
  return inForce ?? wasInForce ?? { generation, revision: Number.MAX_SAFE_INTEGER };
}

/** The account's revision after it; null where another folder of the fleet was first. @throws EventLogError; Error when it is refused otherwise */
async function execute(
  { log, nowMs, actor }: EnterGenerationOptions,
  id: AccountId,
  command: AccountCommand,
): Promise<Revision | null> {
  const result = await executeCommand(log, id, command, { type: 'operator', name: actor }, recordingBy(actor, nowMs));
  if (result.type === 'done') return result.revision;
  if (result.code === 'already_suspended' || result.code === 'key_already_revoked') return null;
  throw new Error(`${id}: ${result.message}`);
}

/** What the journal holds and the ledger cannot take, word for word, for whoever wants to bill it by other means. */
function setRequestsAside({ dataFolder, journal, unsettleable, identity }: EnterGenerationOptions): string | null {
  if (unsettleable.length === 0) return null;
  const file = join(dataFolder, `lost-requests.generation-${identity.generation}.ndjson`);
  const before = linesOf(file);
  const lines = unsettleable.map(({ request, cause }) => JSON.stringify({ cause, ...request }));
  // Once each, though it was done before in part.
  replaceFile(file, [...new Set([...before, ...lines])].map((line) => `${line}\n`).join(''));
  journal.settle(unsettleable.map(({ requestId }) => requestId));
  return file;
}

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);
