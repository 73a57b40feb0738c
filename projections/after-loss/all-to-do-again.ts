import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { LEDGER_STREAM } from '../../contracts/ids.ts';
import { type KnownAccount, readKnownAccounts } from './known-accounts.ts';
import type { SettlesByItself } from './settles-by-itself.ts';
import { type AccountToDoAgain, findToDoAgain, isAnything, type ToDoAgain } from './to-do-again.ts';
import { readFileSetAside, type ViewsSetAside, viewsBefore, viewsSetAside } from './views-set-aside.ts';

/** What the newest views know and the ledger has lost, and what only those know that were set aside before. */
export interface AllToDoAgain extends ToDoAgain {
  /** Newest first; only those that have anything. */
  readonly earlier: readonly EarlierToDoAgain[];
}

/** Of what newer views know, too, nothing but the amounts: what they say of it is later. */
interface EarlierToDoAgain extends ToDoAgain {
  /** Before which the views were set aside. */
  readonly beforeGeneration: number;
  readonly views: string;
}

export interface AllToDoAgainOptions {
  readonly dataFolder: string;
  /** The one that begins. */
  readonly generation: number;
  readonly nowMs: number;
  readonly settling: SettlesByItself;
}

/**
 * Null where there are no views to know it by. Views that were set aside for a generation that the ledger still has are
 * not asked: what it had lost then was told then, and what was done of it since the newer views know.
 * @throws EventLogError; UnreadableFileError
 */
export async function findAllToDoAgain(log: EventLog, options: AllToDoAgainOptions): Promise<AllToDoAgain | null> {
  const { dataFolder, generation, nowMs, settling } = options;
  const [newest, ...earlier] = await viewsToAsk(log, dataFolder, generation);
  if (newest === undefined) return null;
  const known = new KnownIds();
  known.add(readViews(newest.file));
  const found = await findToDoAgain(log, newest.file, nowMs, settling);
  const told: EarlierToDoAgain[] = [];
  for (const { file, generation: beforeGeneration } of earlier) {
    const ofFile = readViews(file);
    const lacks = await findToDoAgain(log, file, nowMs, settling);
    const { catalog = null, accounts = [] } = lacks ?? {};
    const isNewCatalog =
      catalog !== null && ![found, ...told].some((one) => one?.catalog?.was.hash === catalog.was.hash);
    const left = accounts.map((account) => known.left(account)).filter(isAnything);
    if (isNewCatalog || left.length > 0)
      told.push({ beforeGeneration, views: file, catalog: isNewCatalog ? catalog : null, accounts: left });
    known.add(ofFile);
  }
  return { catalog: found?.catalog ?? null, accounts: found?.accounts ?? [], earlier: told };
}

async function viewsToAsk(log: EventLog, dataFolder: string, generation: number): Promise<ViewsSetAside[]> {
  const begun = new Set<number>();
  for await (const recorded of log.readStream(LEDGER_STREAM)) {
    const event = decodeEvent(recorded);
    if (event.type === 'LossAccepted') begun.add(event.data.generation);
  }
  const newest = viewsBefore(dataFolder, generation);
  const aside = viewsSetAside(dataFolder).filter((one) => one.file !== newest && !begun.has(one.generation));
  return [...(newest === null ? [] : [{ file: newest, generation }]), ...aside.reverse()];
}

const readViews = (file: string): KnownAccount[] => readFileSetAside(file, 'what was lost', readKnownAccounts);

/** What views know by its id: a later word on it is theirs. */
class KnownIds {
  readonly #accounts = new Map<string, Set<string>>();

  add(accounts: readonly KnownAccount[]): void {
    for (const { accountId, grants, keys, exceptions, billing } of accounts) {
      const ids = this.#accounts.get(accountId) ?? new Set();
      for (const { grantId } of grants) ids.add(`grant ${grantId}`);
      for (const keyId of Object.keys(keys)) ids.add(`key ${keyId}`);
      for (const attempt of Object.values(billing?.payments?.attempts ?? {})) {
        ids.add(`attempt ${attempt.attemptId}`);
        if (attempt.paymentId !== null) ids.add(`payment ${attempt.paymentId}`);
      }
      for (const requestId of Object.keys({ ...exceptions.open, ...exceptions.ended })) ids.add(`request ${requestId}`);
      this.#accounts.set(accountId, ids);
    }
  }

  /** What only older views know of an account, and the amounts by them. */
  left(lacks: AccountToDoAgain): AccountToDoAgain {
    const ids = this.#accounts.get(lacks.accountId);
    if (ids === undefined) return lacks;
    return {
      ...lacks,
      ...{ account: null, suspended: null, isReinstatementLost: false, members: [], plan: null, statement: null },
      grants: lacks.grants.filter(({ grantId }) => !ids.has(`grant ${grantId}`)),
      keys: lacks.keys.filter(({ keyId }) => !ids.has(`key ${keyId}`)),
      rotatedKeys: lacks.rotatedKeys.filter(({ keyId }) => !ids.has(`key ${keyId}`)),
      payments: paymentsLeft(lacks.payments, ids),
      limits: lacks.limits.filter(({ keyId }) => keyId !== null && !ids.has(`key ${keyId}`)),
      exceptions: lacks.exceptions.filter(({ requestId }) => !ids.has(`request ${requestId}`)),
    };
  }
}

/** What newer views know of a payment is later. */
function paymentsLeft(payments: AccountToDoAgain['payments'], ids: ReadonlySet<string>): AccountToDoAgain['payments'] {
  if (payments === null) return null;
  const attempts = payments.attempts.filter(({ attemptId }) => !ids.has(`attempt ${attemptId}`));
  const returned = payments.returned.filter(({ paymentId }) => !ids.has(`payment ${paymentId}`));
  return attempts.length + returned.length === 0 ? null : { attempts, returned, method: null, reload: null };
}
