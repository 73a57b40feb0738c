import { existsSync } from 'node:fs';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog, EventLogError } from '../../contracts/event-log.ts';
import { CommandError, EXIT, type ProvenLedger } from '../../ledger/commands/command-context.ts';
import { ledgerPlace, looksFor } from '../../ledger/identity/ledger-place.ts';
import { readBesideGateway } from '../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { compareLedger, type FolderKnowledge, readFolder } from '../prove-ledger.ts';

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
  const comparison = await whileBriefly(() => compareLedger(all, { log, where, looks: looksFor(configuration) }));
  const isRefused = comparison.type === 'lost' || comparison.type === 'other ledger';
  return { isWhole: comparison.type === 'whole', error: isRefused ? comparison.error : null };
}

/** Many reads in a row: one of them that fails shall not be the command's end. */
const LOOKED_FOR_MS = 10_000;

async function whileBriefly<T>(work: () => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(LOOKED_FOR_MS);
  let last: EventLogError | null = null;
  try {
    return await untilLogAnswers(work, { signal, onEach: (error) => (last = error) });
  } catch (error) {
    throw signal.aborted && last !== null ? last : error;
  }
}

function knownIn(dataFolder: string, nowMs: number): FolderKnowledge {
  try {
    const journal = journalFolder(dataFolder);
    return readFolder(dataFolder, existsSync(journal) ? readBesideGateway(journal) : [], nowMs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`what ${dataFolder} knows of its ledger cannot be read: ${reason}`, EXIT.unavailable);
  }
}
