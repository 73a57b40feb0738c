import { existsSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { assertInNoBackup } from '../../../ledger/in-no-backup.ts';
import { oldestUnsealed } from '../../../ledger/seals/oldest-unsealed.ts';
import { readSealKeys } from '../../../ledger/seals/rotate-key.ts';
import { sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { timeOf } from '../../../ledger/time-of-event.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { introduceNextKey, replaceLostKey, sealKeySource } from '../configuration/seal-key-of.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { NO_KEY } from '../serve/gateway-sealer.ts';
import { type Examined, type Found, fault, ok, warn } from './finding.ts';

/** So many times `seals.afterMs` may pass before it is late: a page is hashed, and others write, in between. */
const LATE = 3;

/**
 * Why nothing could be sealed, or no seal copied, whatever the log says; null where there is no reason. A place that hangs holds up this look alone.
 * @throws ConfigurationError where the key that is named cannot be used
 */
export async function faultOfSealPlaces(configuration: Configuration): Promise<Found | null> {
  const { key, copyTo } = configuration.seals;
  if (key !== null && key.type !== 'data folder') sealKeySource(configuration)?.(false);
  const reason = copyTo === null ? null : await whyNotWritten(copyTo);
  return reason === null ? null : fault(`seals.copyTo: ${reason}`, 'make it, or name another place');
}

/** A folder that is there, or a file that is there or may be made, and in no backup. */
async function whyNotWritten(place: string): Promise<string | null> {
  try {
    const is = await stat(place).catch(() => null);
    if (is !== null) await access(place, is.isDirectory() ? constants.W_OK | constants.X_OK : constants.W_OK);
    else await access(dirname(place), constants.W_OK | constants.X_OK);
    assertInNoBackup(is?.isDirectory() === true ? join(place, 'a file in it') : place);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether there is a key that may seal on, and whether what is due is sealed. */
export async function lookAtSeals(log: EventLog, { context, configuration, isServed }: Examined): Promise<Found> {
  const { seals, data } = configuration;
  if (seals.key === null) return warn(NO_KEY);
  const { keys } = await readSealKeys(log);
  const isYetToBeMade = seals.key.type === 'data folder' && !existsSync(sealKeyFile(data));
  if (isYetToBeMade && keys.length > 0)
    return fault(
      `${sealKeyFile(data)} is not there`,
      `put it back${isServed ? ', and start the gateway again' : ''}, or, where it is lost: ${replaceLostKey(configuration)}`,
    );
  const key = isYetToBeMade ? undefined : sealKeySource(configuration)?.(false);
  if (keys.length > 0 && keys.at(-1)?.keyId !== key?.keyId) {
    const isKnown = keys.some(({ keyId }) => keyId === key?.keyId);
    return fault(
      `the key ${key?.keyId} is not the newest that the ledger knows, ${keys.at(-1)?.keyId}`,
      isKnown
        ? `put that one back, or introduce the next: ${introduceNextKey(configuration)}`
        : `put that one back, or, where it is lost: ${replaceLostKey(configuration)}`,
    );
  }
  const oldest = await oldestUnsealed(log, data);
  if (oldest === 'too far')
    return warn(
      'the newest seal is too far from those that the data folder knows of to tell what has none',
      `\`${nextCommand(startedWithOf(context), 'gateway', 'ledger', 'verify', '--seals')}\` counts it; a gateway that runs here finds it anew`,
    );
  if (oldest === null) return ok(isYetToBeMade ? 'no key yet: the first start makes one' : 'everything is sealed');
  const agoMs = Math.max(0, context.clock() - (timeOf(oldest).atMs ?? context.clock()));
  const says = `what was written since ${lengthOf(agoMs)} ago has no seal`;
  if (!isServed) return agoMs > seals.afterMs ? warn(says, 'a gateway that runs seals it') : ok(says);
  return agoMs > LATE * seals.afterMs
    ? fault(`${says}, though one is due after ${lengthOf(seals.afterMs)}`, 'look at the log of the gateway')
    : ok(says);
}
