import assert from 'node:assert/strict';
import { type Command, Option } from 'commander';
import { type AccountId, type KeyId, keyId } from '../../../contracts/ids.ts';
import { instant } from '../../../contracts/instant.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { previousAt, untilAtMostEnd } from '../../../ledger/account/key-state.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import { newKey } from '../../../ledger/account/new-key.ts';
import { accountArgument, durationArgument } from '../command-arguments.ts';
import { type CommandContext, recordingOf, withEventLog } from '../command-context.ts';
import { warnOfOtherProduct } from '../product-words.ts';
import { show, showWritten } from '../show.ts';
import { type Done, runAccountCommand } from './run-account-command.ts';
import { rotatedOnce } from './shown-once.ts';

interface RotateOptions {
  readonly overlap: number;
  readonly again?: boolean;
  readonly keyOnly?: boolean;
}

const HOUR_MS = 3_600_000;

/** `gateway key rotate`: another secret for a key. */
export function addRotateCommand(key: Command, context: CommandContext): void {
  key
    .command('rotate')
    .description('give a key another secret, which is shown once; the one before works for a while longer')
    .argument('<account>', 'account id', accountArgument)
    .argument('<key>', 'key id, as `key list` shows it')
    .addOption(
      new Option('--overlap <time>', 'how long both secrets work, such as 90m, 24h or 7d; 0 for not at all')
        .argParser(durationArgument)
        .default(LIMITS.keyOverlapMs, `${LIMITS.keyOverlapMs / HOUR_MS}h`),
    )
    .option('--again', 'also while the secret before still works: it ends now, whatever was said of it')
    .option('--key-only', 'print the key and nothing else (with --json as one JSON string), for scripts')
    .addHelpText(
      'after',
      '\nThe key stays one key: its limit, models, end and usage go on. Of the secrets before the newest one works at most: while it does, another rotation, which would end it at once, is refused, unless it is said to end (--again), or that all do (--overlap 0).\n\nExamples:\n  gateway key rotate acct_demo key_1a2b3c4d5e6f7081\n  gateway key rotate acct_demo key_1a2b3c4d5e6f7081 --overlap 0',
    )
    .action(async (id: AccountId, rotated: string, options: RotateOptions, command: Command) =>
      rotate(id, keyId(rotated), options, command, context),
    );
}

async function rotate(
  id: AccountId,
  rotated: KeyId,
  { overlap, again: endsPrevious = false, keyOnly = false }: RotateOptions,
  command: Command,
  context: CommandContext,
): Promise<void> {
  await withEventLog(context, command, async (log, { product: served }) => {
    const { secret, sha256, last4 } = newKey();
    const by = recordingOf(context).actor;
    const nowMs = context.clock();
    const rotating = { type: 'RotateKey', keyId: rotated, sha256, last4, overlapMs: overlap, by, nowMs } as const;
    const { recordedAt, before } = await runAccountCommand(context, log, id, { ...rotating, endsPrevious });
    const { product, key } = rotatedIn(before, rotated);
    const { last4: current, member } = key;
    const untilMs = untilAtMostEnd(key, nowMs + overlap);
    const previous = overlap === 0 ? null : { last4: current, untilMs };
    rotatedOnce(context, id, { keyId: rotated, member, previous });
    warnOfOtherProduct(context, { id, product, served });
    const older = previousAt(key, nowMs)?.last4;
    const endedAtOnce = [...(older === undefined ? [] : [older]), ...(overlap === 0 ? [current] : [])];
    if (keyOnly) {
      // Who still works with one is cut off by now.
      for (const ended of inWords(endedAtOnce)) context.warn(`${rotated} of ${id}: ${ended}\n`);
      show(context, command, { json: secret, text: secret });
      return;
    }
    const previousUntil = instant(untilMs);
    const asKey = untilMs < nowMs + overlap ? ', when the key itself ends' : '';
    const works = overlap === 0 ? [] : [`its secret before works until ${previousUntil}${asKey}`];
    showWritten(context, command, recordedAt, {
      json: { accountId: id, keyId: rotated, key: secret, previousUntil, endedAtOnce },
      text: `${secret}\n\n${[`${rotated} of ${id}`, ...works, ...inWords(endedAtOnce)].join('; ')}. This is the only time that the key is shown.`,
    });
  });
}

/** What was rotated, as it was, and of which product. */
function rotatedIn(before: Done['before'], rotated: KeyId) {
  assert(before.type === 'open', 'the account of what was rotated is there');
  const key = entryOf(before.keys, rotated);
  assert(key !== undefined, 'what was rotated is there');
  return { product: before.organization.product, key };
}

function inWords(ended: readonly string[]): string[] {
  if (ended.length === 0) return [];
  return ended.length === 1
    ? [`an older secret (ending ${ended[0]}) has ended at once`]
    : [`older secrets (ending ${ended.join(' and ')}) have ended at once`];
}
