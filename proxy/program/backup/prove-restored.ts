import { existsSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { LedgerLostError } from '../../../ledger/identity/ledger-lost.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { readFolder } from '../../../projections/read-folder.ts';
import type { CommandContext } from '../command-context.ts';
import { compareWithTopic } from '../ledger/compare-with-topic.ts';

export interface Proof {
  /** What the ledger lacks, in the words in which a gateway refuses to serve from it; null where it lacks nothing. */
  readonly error: LedgerLostError | null;
}

/** Whether a ledger has all that its data folder and its topic know of it, as a start and `accept-loss` ask. @throws EventLogError */
export async function proveRestored(configuration: Configuration, context: CommandContext): Promise<Proof> {
  const { data } = configuration;
  const journal = journalFolder(data);
  const folder = readFolder(data, existsSync(journal) ? readBesideGateway(journal) : [], context.clock());
  const log = await context.openEventLog(configuration);
  try {
    const { comparison } = await compareWithTopic(log, { folder, configuration }, (reason) =>
      context.warn(`warning: ${reason}\n`),
    );
    return { error: comparison.type === 'lost' || comparison.type === 'other ledger' ? comparison.error : null };
  } finally {
    await log.close();
  }
}
