import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../account/commands.ts';
import { type CommandResult, executeCommand } from '../account/execute-command.ts';
import { type CommandContext, CommandError, EXIT, recordingOf } from './command-context.ts';

export type Done = Extract<CommandResult, { type: 'done' }>;

/** Carries out a command on an account; a refusal ends the program with its message. @throws CommandError */
export async function runAccountCommand(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<Done> {
  const result = await executeCommand(log, accountId, command, recordingOf(context));
  if (result.type === 'refused') throw new CommandError(`${accountId}: ${result.message}`, EXIT.refused);
  return result;
}
