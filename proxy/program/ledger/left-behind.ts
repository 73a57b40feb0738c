import { dirname, join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { counted } from '../../../contracts/money.ts';
import { readClaims } from '../../../ledger/forms/claims.ts';
import { readNote } from '../../../ledger/identity/folder-note.ts';
import { isWithin } from '../../../ledger/is-within.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { LEDGER_FILE } from '../../../ledger/ledger-file.ts';
import { readParked } from '../../../projections/parked-accounts.ts';
import { readKeptClaims } from '../../claim/claim-file.ts';
import { CommandError, EXIT } from '../command-context.ts';
import { keysByName } from '../configuration/keys-by-name.ts';

/** What of a data folder does not go along with a ledger that is copied to another one; nothing where it stays. */
export interface LeftBehind {
  /** What holds in that folder alone, each in a few words. */
  readonly inFolder: readonly string[];
  /** With which seals go on: named as for a ledger that is restored. */
  readonly keys: ReturnType<typeof keysByName>;
}

export interface Leaving {
  readonly configuration: Configuration;
  readonly identity: LedgerIdentity | null;
  /** The file that the ledger comes to; null for an event store, with which each proxy goes on in its data folder. */
  readonly file: string | null;
}

/** @throws JournalError; UnreadableFileError */
export function leftBehind({ configuration, identity, file }: Leaving): LeftBehind {
  const { data, seals } = configuration;
  if (file === null || isSameFolder(dirname(file), data)) return { inFolder: [], keys: [] };
  // A file's ledger goes on with the key of its folder, where none is configured.
  const asInFile: Configuration = { ...configuration, seals: { ...seals, key: seals.key ?? { type: 'data folder' } } };
  return { inFolder: heldIn(data, identity), keys: keysByName(asInFile).filter(({ use }) => use === 'seals') };
}

/**
 * Proxies that the log knows besides those of some data folders. What is left in the folders of these it does not say, and a
 * ledger in a file can be in none of them. @throws EventLogError; UnreadableEventError
 */
export async function proxiesBeside(log: EventLog, folders: readonly string[]): Promise<string[]> {
  const own = folders.flatMap((folder) => readKeptClaims(folder).map(({ proxy }): string => proxy));
  const claimed = new Set((await readClaims(log)).map(({ proxy }) => proxy));
  return [...claimed].filter((proxy) => !own.includes(proxy));
}

/** Before the ledger ends: usage and an operator's word would be nowhere where it is then. @throws CommandError; as `leftBehind` */
export function assertNothingLeft(leaving: Leaving): void {
  const { inFolder } = leftBehind(leaving);
  const { data } = leaving.configuration;
  if (inFolder.length === 0) return;
  throw new CommandError(
    `the ledger is where it was: in another data folder than ${data} it would be without what is there alone: ` +
      `${inFolder.join(', ')}. Copy it to ${join(data, LEDGER_FILE)}, where all of that goes on; or start a gateway on ${data} once more ` +
      'and stop it in order, with nobody parked (`gateway projections unpark`) and no account set aside (`gateway projections status`), then run this again',
    EXIT.refused,
  );
}

const isSameFolder = (one: string, other: string): boolean => isWithin(one, other) && isWithin(other, one);

function heldIn(data: string, identity: LedgerIdentity | null): string[] {
  const requests = readBesideGateway(journalFolder(data)).length;
  const parked = readParked(data).map(({ accountId }) => accountId);
  const generation = readNote(data)?.generation ?? 0;
  const isEarlier = generation > 0 && generation < (identity?.generation ?? 0);
  return [
    ...(requests === 0 ? [] : [`${counted(requests, 'request')} not settled, in its journal`]),
    ...(parked.length === 0 ? [] : [`parked by an operator: ${parked.join(' ')}`]),
    ...(isEarlier ? [`who is refused since generation ${generation}, which its next start takes over`] : []),
  ];
}
