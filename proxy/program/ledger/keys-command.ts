import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { NO_FILE_OF_THAT_NAME } from '../../../contracts/secret-like.ts';
import { isMissing, isUntold, textOfFile } from '../../../ledger/named-file.ts';
import { newestSeal } from '../../../ledger/seals/newest-seal.ts';
import { readSealKeys, rotateSealKey, standingOf, unvouched, withValidity } from '../../../ledger/seals/rotate-key.ts';
import {
  keepKeyFile,
  keyOfFile,
  nextKeyOfFolder,
  type SealKey,
  sealKeyFile,
  takeNextKey,
} from '../../../ledger/seals/seal-keys.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, recordingOf, withEventLog, withReadLog } from '../command-context.ts';
import { sealKeySource } from '../configuration/seal-key-of.ts';
import { whyNotRead } from '../configuration/secret-text.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
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
    const known = await readSealKeys(log);
    const { keys } = known;
    if (lost === true) assertLost(context, configuration, known);
    const to = nextKey(configuration, keyFile);
    if (isInFolder && lost !== true && keys.length > 0 && !existsSync(sealKeyFile(configuration.data)))
      throw new CommandError(
        `${sealKeyFile(configuration.data)} is not there, which is to vouch for the next: put it back, or, where it is lost: --lost`,
        EXIT.refused,
      );
    const from = lost === true ? null : (sealKeySource(configuration)?.(keys.length === 0) ?? null);
    if (from === null && lost !== true)
      throw new CommandError('the configuration names no key of seals that could vouch for it', EXIT.usage);
    const kept = isInFolder && lost === true ? keptBefore(configuration.data, to) : null;
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
    if (lost === true && isNew) context.warn(`warning: ${costOfLoss(context, keyId)}\n`);
    const keeping = kept === null ? '' : `\nWhat stood in its place is kept in ${kept}.`;
    const text = `${isNew ? 'introduced' : 'known already'}: the key ${keyId}, whose public half is ${publicKey}${keeping}${then}`;
    show(context, command, { json: { keyId, publicKey, isNew, ...(kept === null ? {} : { kept }) }, text });
  });
}

/** A key that nobody vouches for breaks the chain of seals for good, and the one that it replaces is gone. @throws CommandError; ToldShortageError */
function assertLost(
  context: CommandContext,
  configuration: Configuration,
  known: Awaited<ReturnType<typeof readSealKeys>>,
): void {
  if (known.keys.length === 0)
    throw new CommandError(
      'the ledger knows no key, so that none is lost: the first comes with the first seal',
      EXIT.refused,
    );
  const keyId = keyIdThere(configuration);
  if (keyId === null || standingOf(keyId, known) !== 'current') return;
  const { data, seals } = configuration;
  const [where, how] =
    seals.key?.type === 'data folder' ? [sealKeyFile(data), []] : ['the configuration', ['--key-file', 'FILE']];
  throw new CommandError(
    `the key ${keyId} is not lost: ${where} has it, and the ledger knows it as its own. With it the next has one that vouches for it: ` +
      nextCommand(startedWithOf(context), 'gateway', 'ledger', 'keys', 'rotate', ...how),
    EXIT.refused,
  );
}

/** Null where there is none that can be used. @throws ToldShortageError, CommandError: then it is not known */
function keyIdThere(configuration: Configuration): string | null {
  try {
    return sealKeySource(configuration)?.(false).keyId ?? null;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const why = whyNotSeen(configuration);
    if (why === null) return null;
    throw new CommandError(`${why}: whether the key is lost is not known`, EXIT.refused);
  }
}

/** Who may not read a key, or does not have the variable that a gateway has, has not lost it. Null where it is gone, or what is there is none. */
function whyNotSeen({ seals: { key: place }, data }: Configuration): string | null {
  if (place === null) return null;
  if (place.type === 'text')
    return place.pem === ''
      ? 'the variable that seals.keyEnv names is not set here (set it as the gateway has it, or, where that key is lost, to the text of the next)'
      : null;
  const file = place.type === 'file' ? place.file : sealKeyFile(data);
  try {
    textOfFile(file);
    return null;
  } catch (error) {
    return isMissing(file) ? null : whyNotRead(file, error);
  }
}

function costOfLoss(context: CommandContext, keyId: string): string {
  const keys = ['gateway', 'ledger', 'keys'];
  const startedWith = startedWithOf(context);
  return (
    `nobody vouches for ${keyId}: without keys from outside \`gateway ledger verify --seals\` calls the ledger damaged where it is introduced, for good. ` +
    `Hand out the keys to whoever verifies: ${nextCommand(startedWith, ...keys, '--json')} > keys.json; ` +
    `with them it holds: ${nextCommand(startedWith, 'gateway', 'ledger', 'verify', '--seals', '--keys', 'keys.json')}`
  );
}

/** @throws CommandError where it cannot be kept: then nothing is introduced */
function keptBefore(data: string, to: SealKey): string | null {
  try {
    return keepKeyFile(data, to);
  } catch (error) {
    throw new CommandError(
      `${sealKeyFile(data)} cannot be kept beside the key that is to stand there: ${error instanceof Error ? error.message : String(error)}`,
      EXIT.refused,
    );
  }
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
