import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId } from '../../../contracts/ids.ts';
import type { AccountState } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandRefusal } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { type CommandResult, executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { type CommandContext, CommandError, EXIT, recordingOf } from '../command-context.ts';

/** By which option each value of an account's command is given, wherever it is. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['amount', '--usd'],
  ['expiresAt', '--expires'],
  ['reason', '--reason'],
]);

export type Done = Extract<CommandResult, { type: 'done' }>;

/** Also the time that the events were written with; null where there are none. */
type DoneAt = Done & { readonly recordedAt: string | null };

/** Carries out a command on an account; a refusal ends the program with its message. @throws CommandError */
export async function runAccountCommand(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<DoneAt> {
  const recording = recordingOf(context);
  const result = await executeCommand(log, accountId, command, recording);
  if (result.type === 'refused') throw refusedAs(accountId, result);
  return { ...result, recordedAt: result.events.length === 0 ? null : recording.recordedAt };
}

export interface Decided {
  readonly before: AccountState;
  readonly events: readonly AccountEvent[];
}

/** What the command would write now; writes nothing. @throws CommandError as it would */
export async function decideAccountCommand(
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<Decided> {
  const { state: before } = await loadAccount(log, accountId);
  const decision = decide(command, before);
  if ('type' in decision) throw refusedAs(accountId, decision);
  return { before, events: decision };
}

/** Who has typed an option is told of the option, not of the value that was made of it. */
export function refusedAs(accountId: AccountId, { message }: CommandRefusal): CommandError {
  const told = message.replace(/^(\w+): /, (start, name: string) => {
    const option = OPTIONS.get(name);
    return option === undefined ? start : `${option}: `;
  });
  return new CommandError(`${accountId}: ${told}`, EXIT.refused);
}
