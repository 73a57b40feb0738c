import { fileURLToPath } from 'node:url';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { type AccountId, accountId, grantId, keyId } from '../../contracts/ids.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { loadCatalog } from '../../ledger/catalog/catalog-state.ts';
import { configuredProviders } from '../../ledger/catalog/gateway-providers.ts';
import { publishCatalog } from '../../ledger/catalog/publish-catalog.ts';
import { readCatalogFile } from '../../ledger/catalog/read-catalog-file.ts';
import { type CommandContext, recordingOf } from '../../ledger/commands/command-context.ts';
import { runAccountCommand } from '../../ledger/commands/run-account-command.ts';

const EXAMPLE_CATALOG = fileURLToPath(new URL('../../contracts/example-catalog.yaml', import.meta.url));

/** Publishes the configured catalog, or the example, into a ledger that has none. */
export async function publishFirstCatalog(
  context: CommandContext,
  log: EventLog,
  configuration: Configuration,
): Promise<void> {
  const { version } = await loadCatalog(log);
  if (version > 0) return;
  const file = configuration.catalog ?? EXAMPLE_CATALOG;
  await publishCatalog(log, readCatalogFile(file, configuredProviders(configuration)), recordingOf(context));
}

export interface DemoAccount {
  readonly accountId: AccountId;
  /** Shown once. */
  readonly key: string;
}

/** Opens the demo account with its key, in a ledger that holds nothing but its identity; null in any other. */
export async function openDemoAccount(
  context: CommandContext,
  log: EventLog,
  configuration: Configuration,
): Promise<DemoAccount | null> {
  // A new ledger has been identified by the gateway that starts, and nothing else.
  for await (const { type } of log.readAll({ limit: 2 })) if (type !== 'LedgerIdentified') return null;
  const demo = accountId('acct_demo');
  const nowMs = context.clock();
  await runAccountCommand(context, log, demo, {
    type: 'OpenAccount',
    accountId: demo,
    kind: 'personal',
    email: 'demo@example.com',
    trial: configuration.trialUsd,
    trialGrantId: grantId('grant_trial'),
    nowMs,
  });
  const { secret, keyId: issued, sha256, last4 } = newKey();
  await runAccountCommand(context, log, demo, {
    type: 'IssueKey',
    keyId: keyId(issued),
    name: 'demo',
    sha256,
    last4,
    issuer: 'first run',
    expiresAtMs: null,
    models: null,
    monthlyLimit: null,
    nowMs,
  });
  return { accountId: demo, key: secret };
}
