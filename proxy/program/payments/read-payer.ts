import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import type { Action } from '../../../contracts/permissions.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { takesMoneyOf } from '../../../ledger/payments/ask-of-attempt.ts';
import { readAccount } from '../accounts/run-account-command.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';

export interface ProvidedLog {
  readonly log: EventLog;
  readonly configuration: Configuration;
}

/**
 * An account whose money is taken as this configuration says. One of another product pays elsewhere: its attempts would be
 * asked for, and charged, by two providers. @throws CommandError for such a one, and for who may not do it
 */
export async function readPayer(
  context: CommandContext,
  { log, configuration: { product } }: ProvidedLog,
  accountId: AccountId,
  action: Action,
): Promise<OpenAccount> {
  const { state } = await readAccount(context, log, accountId, action);
  assertOfProduct(product, accountId, state);
  return state;
}

/** @throws CommandError for an account of another product than the configuration's */
export function assertOfProduct(product: string, accountId: AccountId, state: OpenAccount): void {
  if (takesMoneyOf(product, state)) return;
  throw new CommandError(
    `${accountId}: its product is ${state.organization.product}, and this configuration is of ${product}: --config names the one that says who takes its money`,
    EXIT.refused,
  );
}
