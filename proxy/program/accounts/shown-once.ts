import type { AccountId, KeyId } from '../../../contracts/ids.ts';
import { instant } from '../../../contracts/instant.ts';
import { type CommandContext, EXIT } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';

/** A secret that nobody has read is known to nobody: another takes its place. */
export function issuedOnce(context: CommandContext, id: AccountId, made: KeyId): void {
  const next = nextOf(context);
  lostUnread(context, made, `; another: ${next('rotate', id, made)}, or end the key: ${next('revoke', id, made)}`);
}

interface Rotated {
  readonly keyId: KeyId;
  /** Whose the key is, by e-mail; null is the first owner. */
  readonly member: string | null;
  /** The secret that works beside the new one, until when; null where none does. */
  readonly previous: { readonly last4: string; readonly untilMs: number } | null;
}

/** The same of a rotation, where whoever has the secret before still works with it: what ends that one is said to. */
export function rotatedOnce(context: CommandContext, id: AccountId, { keyId, member, previous }: Rotated): void {
  const next = nextOf(context);
  const whose = member === null ? [] : ['--member', member];
  const lost =
    previous === null
      ? `, and those before have ended; another: ${next('rotate', id, keyId, '--overlap', '0')}`
      : `; the one before (ending ${previous.last4}) works until ${instant(previous.untilMs)}, so that nothing is cut off yet; ` +
        `another key: ${next('issue', id, ...whose)}, or, where the one before may end at once, another secret: ${next('rotate', id, keyId, '--again')}`;
  lostUnread(context, keyId, lost);
}

const nextOf =
  (context: CommandContext) =>
  (...words: readonly string[]): string =>
    nextCommand(startedWithOf(context), 'gateway', 'key', ...words);

const lostUnread = (context: CommandContext, key: KeyId, more: string): void =>
  context.whenUnread?.(EXIT.unavailable, `the secret of ${key} was made, and nobody has seen it${more}`);
