import { existsSync } from 'node:fs';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { CommandError, EXIT, type ProvenLedger } from '../../ledger/commands/command-context.ts';
import { ledgerPlace, looksFor } from '../../ledger/identity/ledger-place.ts';
import type { RecoveredRequest } from '../../ledger/journal/journal.ts';
import { readJournal } from '../../ledger/journal/recovery.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { compareLedger, type FolderKnowledge, readFolder } from '../prove-ledger.ts';

/** A gateway that runs beside the command may take a file of its journal away while it is read. */
const JOURNAL_READS_MAX = 5;

/**
 * Whether a command may write into the ledger: compared with all that the data folder knows, as a gateway does at its
 * start, and without a gateway's lock on the folder. @throws EventLogError; CommandError when a file of the folder cannot be read
 */
export async function proveLedger(
  log: EventLog,
  configuration: Configuration,
  clock: () => number,
): Promise<ProvenLedger> {
  // What is known is read first: whatever is written meanwhile, the ledger has it.
  const { all } = knownIn(configuration.data, clock());
  if (all.every(({ identity, events }) => identity === null && events.length === 0))
    return { isWhole: true, error: null };
  const where = ledgerPlace(configuration);
  const comparison = await compareLedger(all, { log, where, looks: looksFor(configuration) });
  const isRefused = comparison.type === 'lost' || comparison.type === 'other ledger';
  return { isWhole: comparison.type === 'whole', error: isRefused ? comparison.error : null };
}

function knownIn(dataFolder: string, nowMs: number): FolderKnowledge {
  try {
    return readFolder(dataFolder, recoveredIn(journalFolder(dataFolder)), nowMs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`what ${dataFolder} knows of its ledger cannot be read: ${reason}`, EXIT.unavailable);
  }
}

function recoveredIn(directory: string): readonly RecoveredRequest[] {
  for (let reads = 1; ; reads++) {
    if (!existsSync(directory)) return [];
    try {
      return readJournal(directory).recovered;
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isGone || reads >= JOURNAL_READS_MAX) throw error;
    }
  }
}
