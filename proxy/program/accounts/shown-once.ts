import type { AccountId, KeyId } from '../../../contracts/ids.ts';
import { type CommandContext, EXIT } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';

/** A secret that nobody has read is known to nobody: another takes its place. */
export function shownOnce(context: CommandContext, id: AccountId, made: KeyId): void {
  const next = (...words: readonly string[]): string =>
    nextCommand(startedWithOf(context), 'gateway', 'key', ...words, id, made);
  context.whenUnread?.(
    EXIT.unavailable,
    `the secret of ${made} was made, and nobody has seen it; another: ${next('rotate')}, or end the key: ${next('revoke')}`,
  );
}
