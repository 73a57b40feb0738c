import type { EventLog } from '../../../contracts/event-log.ts';
import { commandId, uuidV7 } from '../../../contracts/ids.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { openBenchAccounts } from '../settlements/bench-accounts.ts';
import { SettlementLoad } from '../settlements/settlement-load.ts';

const ACCOUNTS = 1_000;
const LOOK_MS = 10;

/** Fills an empty ledger with usage and debits, as the settlement writes them, until it has so many events or a few more. */
export async function fillLedger(log: EventLog, events: number): Promise<void> {
  const nowMs = Date.now();
  const command = commandId(uuidV7(nowMs, crypto.getRandomValues(new Uint8Array(10))));
  await identifyLedger(log, nowMs, {
    commandId: command,
    actor: 'gateway',
    recordedAt: new Date(nowMs).toISOString(),
  });
  const repository = new AccountViews();
  const accounts = await openBenchAccounts(log, repository, { prefix: 'feed', count: ACCOUNTS });
  let failure: string | null = null;
  const load = new SettlementLoad(log, repository, (reason) => {
    failure ??= reason;
  });
  load.start(accounts);
  while (((await log.headPosition()) ?? 0) < events) {
    if (failure !== null) throw new Error(failure);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  await load.stop();
}
