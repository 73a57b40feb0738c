import { join } from 'node:path';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog, EventLogError } from '../../../contracts/event-log.ts';
import { ledgerPlace, looksFor } from '../../../ledger/event-log/ledger-place.ts';
import { compareLedger, whyElsewhere } from '../../../ledger/identity/compare-ledger.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { UnreadableFileError } from '../../../ledger/unreadable-file.ts';
import { untilLogAnswers } from '../../../ledger/until-log-answers.ts';
import { VIEWS_FILE } from '../../../projections/known-views.ts';
import { type FolderKnowledge, readFolder } from '../../../projections/read-folder.ts';
import type { ProvenLedger } from '../command-context.ts';

/**
 * Whether a command may write into the ledger: compared with all that the data folder knows, as a gateway does at its
 * start, and without a gateway's lock on the folder. @throws EventLogError; UnreadableFileError when a file of the folder cannot be read
 */
export async function proveLedger(
  log: EventLog,
  configuration: Configuration,
  clock: () => number,
): Promise<ProvenLedger> {
  // What is known is read first: whatever is written meanwhile, the ledger has it.
  const { all, viewsDamage } = knownIn(configuration.data, clock());
  const damaged = viewsDamage === null ? {} : { warning: describeDamage(configuration.data, viewsDamage) };
  const where = ledgerPlace(configuration);
  if (all.every(({ identity, events }) => identity === null && events.length === 0)) {
    // Nothing to compare with; but what this program cannot read it shall not come upon in the middle of its work.
    const error = whyElsewhere(where, await whileBriefly(() => readLedgerState(log)));
    return { isWhole: viewsDamage === null && error === null, error, ...damaged };
  }
  const comparison = await whileBriefly(() => compareLedger(all, { log, where, looks: looksFor(configuration) }));
  const isWhole = comparison.type === 'whole' && viewsDamage === null;
  const lost = comparison.type === 'lost' && viewsDamage === null ? { lost: comparison.error.what } : {};
  return { isWhole, error: 'error' in comparison ? comparison.error : null, ...lost, ...damaged };
}

/** A command changes nothing in the folder, where a gateway may be at work. */
export const describeDamage = (data: string, damage: string): string =>
  `${join(data, VIEWS_FILE)} cannot be read as views (${damage}): the ledger is read from its beginning instead. ` +
  'A gateway that comes upon it sets the file aside, to be made anew at its start';

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
    return readFolder(dataFolder, readBesideGateway(journalFolder(dataFolder)), nowMs);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UnreadableFileError(`what ${dataFolder} knows of its ledger cannot be read: ${reason}`);
  }
}
