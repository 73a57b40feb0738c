import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { NO_FILE_OF_THAT_NAME } from '../../../contracts/secret-like.ts';
import { isUntold } from '../../../ledger/named-file.ts';
import { newestSeal } from '../../../ledger/seals/newest-seal.ts';
import { readSealKeys, rotateSealKey, unvouched, withValidity } from '../../../ledger/seals/rotate-key.ts';
import { keyOfFile, nextKeyOfFolder, type SealKey, sealKeyFile, takeNextKey } from '../../../ledger/seals/seal-keys.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog, withReadLog } from '../command-context.ts';
import { sealKeySource } from '../configuration/seal-key-of.ts';
import { facts, show, table } from '../show.ts';

interface RotateOptions {
  readonly keyFile?: string;
  readonly lost?: true;
}

/** `gateway ledger keys`, with `rotate`, and `gateway ledger seal-digest`: what of seals is to be kept elsewhere. */
export function addKeysCommand(ledger: Command, context: CommandContext): void {
  const keys = ledger
    .command('keys')
    .description(
      'the public keys that seals are signed with, and when each was valid; with --json a file for whoever verifies',
    )
    .addHelpText('after', '\nExamples:\n  gateway ledger keys\n  gateway ledger keys --json > keys.json')
    .action((_options: unknown, command: Command) => showKeys(context, command));
  keys
    .command('rotate')
    .description(
      'introduce the next key, vouched for by the one before; of the embedded ledger it is made here, and a running' +
        ' gateway takes it up by itself',
    )
    .option(
      '--key-file <file>',
      'the next private key (PEM), where the configuration names the one before',
      pathArgument,
    )
    .option('--lost', 'the key before is lost: nobody vouches for the next, and only who is given it will believe it')
    .addHelpText('after', '\nExamples:\n  gateway ledger keys rotate\n  gateway ledger keys rotate --key-file next.pem')
    .action((options: RotateOptions, command: Command) => rotate(context, command, options));
  ledger
    .command('seal-digest')
    .description('the SHA-256 of the newest seal, for a time-stamping service (RFC 3161) or to be kept elsewhere')
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger seal-digest\n' +
        '  openssl ts -query -sha256 -digest $(gateway ledger seal-digest --json | jq -r .sha256) -cert -out seal.tsq',
    )
    .action((_options: unknown, command: Command) =>
      withReadLog(context, command, (log) => showDigest(context, command, log)),
    );
}

async function showKeys(context: CommandContext, command: Command): Promise<void> {
  await withReadLog(context, command, async (log) => {
    const keys = withValidity((await readSealKeys(log)).keys);
    for (const { keyId, introducedBy } of unvouched(keys))
      context.warn(`warning: ${keyId} is not introduced by ${introducedBy ?? 'itself'}, as it says: do not trust it\n`);
    const rows = keys.map(({ keyId, publicKey, validFrom, validUntil, introducedBy }) => [
      ...[keyId, publicKey, validFrom, validUntil ?? ''],
      introducedBy ?? 'itself',
    ]);
    const text = (): string =>
      keys.length === 0
        ? 'no key has been introduced: that comes with the first seal'
        : table(['key', 'public key (base64)', 'valid from', 'until', 'introduced by'], rows, context);
    show(context, command, { json: { keys }, text });
  });
}

async function rotate(context: CommandContext, command: Command, { keyFile, lost }: RotateOptions): Promise<void> {
  await withEventLog(context, command, async (log, configuration) => {
    const isInFolder = configuration.seals.key?.type === 'data folder';
    const { keys } = await readSealKeys(log);
    if (lost === true && keys.length === 0)
      throw new CommandError(
        'the ledger knows no key, so that none is lost: the first comes with the first seal',
        EXIT.refused,
      );
    const to = nextKey(configuration, keyFile);
    if (isInFolder && lost !== true && keys.length > 0 && !existsSync(sealKeyFile(configuration.data)))
      throw new CommandError(
        `${sealKeyFile(configuration.data)} is not there, which is to vouch for the next: put it back, or, where it is lost: --lost`,
        EXIT.refused,
      );
    const from = lost === true ? null : (sealKeySource(configuration)?.(keys.length === 0) ?? null);
    if (from === null && lost !== true)
      throw new CommandError('the configuration names no key of seals that could vouch for it', EXIT.usage);
    const answer = await rotateSealKey(log, { from, to, recording: recordingOf(context) });
    if (answer.type === 'unknown key')
      throw new CommandError(
        `the ledger knows no key ${answer.keyId}, which was to vouch for ${to.keyId}; where the one that it knows is lost: --lost`,
        EXIT.refused,
      );
    if (answer.type === 'followed')
      throw new CommandError(
        `the ledger is sealed by the key ${answer.by}, which has followed ${answer.keyId}: that one has to vouch for ${to.keyId}; ` +
          'give it to the configuration of each gateway, or to this data folder, first',
        EXIT.refused,
      );
    if (isInFolder) takeNextKey(configuration.data, to);
    const { keyId, publicKey } = to;
    const then = isInFolder ? '' : '\nName it in the configuration of each gateway, and start them again.';
    const isNew = answer.events.length > 0;
    const text = `${isNew ? 'introduced' : 'known already'}: the key ${keyId}, whose public half is ${publicKey}${then}`;
    show(context, command, { json: { keyId, publicKey, isNew }, text });
  });
}

/** @throws CommandError */
function nextKey({ seals, data }: Configuration, keyFile: string | undefined): SealKey {
  if (seals.key?.type === 'data folder') {
    if (keyFile === undefined) return madeKey(data);
    throw new CommandError('--key-file goes with a key that the configuration names', EXIT.usage);
  }
  if (keyFile === undefined) throw new CommandError('--key-file is missing: the next private key', EXIT.usage);
  if (isUntold(keyFile, keyFile)) throw new CommandError(`--key-file: ${NO_FILE_OF_THAT_NAME}`, EXIT.usage);
  try {
    return keyOfFile(keyFile);
  } catch (error) {
    throw new CommandError(`${keyFile} ${error instanceof Error ? error.message : String(error)}`, EXIT.usage);
  }
}

/** @throws CommandError */
function madeKey(data: string): SealKey {
  try {
    return nextKeyOfFolder(data);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), EXIT.refused);
  }
}

async function showDigest(context: CommandContext, command: Command, log: EventLog): Promise<void> {
  const newest = await newestSeal(log);
  if (newest === null) throw new CommandError('there is no seal yet', EXIT.refused);
  const { sha256 } = newest;
  const { seal, sealedAt, treeSize, treeRoot } = newest.seal;
  const text = facts([
    ['seal', String(seal)],
    ['sealed at', sealedAt],
    ['events', String(treeSize)],
    ['SHA-256', sha256],
  ]);
  show(context, command, { json: { seal, sealedAt, treeSize, treeRoot, sha256 }, text });
}
