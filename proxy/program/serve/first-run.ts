import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountId, grantId, keyId } from '../../../contracts/ids.ts';
import type { MicroUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { newKey } from '../../../ledger/account/new-key.ts';
import { runAccountCommand } from '../accounts/run-account-command.ts';
import type { CommandContext } from '../command-context.ts';
import type { Gateway } from './gateway.ts';

export interface DemoAccount {
  readonly accountId: AccountId;
  /** Shown once; null where an earlier start has issued it, and nothing was asked with it: perhaps nobody has seen it. */
  readonly key: string | null;
}

const DEMO = { accountId: accountId('acct_demo'), email: 'demo@example.com', issuer: 'first run' } as const;

/** What a gateway has written itself when it becomes ready on a new ledger. */
const OF_ITS_START: ReadonlySet<string> = new Set(['LedgerIdentified', 'FormsAdopted', 'CatalogPublished']);

/**
 * Opens the demo account in a ledger that has nothing of anybody's, and issues its key. Only for whoever can show it at
 * once, so by a gateway that is ready; where the one before ended in between, the next goes on with what is there.
 * Null where nothing of it has to be told. @throws CommandError, EventLogError
 */
export async function openDemoAccount(
  context: CommandContext,
  log: EventLog,
  { gateway, trial, product }: { readonly gateway: Gateway; readonly trial: MicroUsd; readonly product: string },
): Promise<DemoAccount | null> {
  const { projections } = gateway.process;
  const run = async (command: AccountCommand): Promise<void> => {
    const { position } = await runAccountCommand(context, log, DEMO.accountId, command);
    if (position !== null) await projections.whenAt(position);
  };
  const read = () => projections.accounts.read(DEMO.accountId).state;
  if (read().type === 'unopened') {
    for await (const { type } of log.readAll({ limit: OF_ITS_START.size + 1 }))
      if (!OF_ITS_START.has(type)) return null;
    const { accountId, email } = DEMO;
    const trialGrantId = grantId('grant_trial');
    const opening = { accountId, kind: 'personal', email, trial, trialGrantId, product } as const;
    await run({ type: 'OpenAccount', ...opening, nowMs: context.clock() });
  }
  const account = read();
  if (account.type === 'unopened' || account.email !== DEMO.email) return null;
  const keys = [...valuesOf(account.keys)];
  if (keys.length === 0) {
    const { secret, keyId: id, ...issued } = newKey();
    const unbounded = { expiresAtMs: null, models: null, monthlyLimit: null, nowMs: context.clock() };
    await run({ type: 'IssueKey', keyId: keyId(id), name: 'demo', ...issued, issuer: DEMO.issuer, ...unbounded });
    return { accountId: DEMO.accountId, key: secret };
  }
  const isUnused = keys.every(({ issuer }) => issuer === DEMO.issuer) && account.exceptions.lastUsage === null;
  return isUnused ? { accountId: DEMO.accountId, key: null } : null;
}
