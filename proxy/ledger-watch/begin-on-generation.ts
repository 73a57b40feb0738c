import type { Logger } from 'pino';
import type { EventLog } from '../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { findUnsettleable } from '../../ledger/identity/unsettleable.ts';
import type { Journal } from '../../ledger/journal/journal.ts';
import { enterGeneration } from '../../projections/after-loss/enter-generation.ts';
import type { KeptNote } from './kept-note.ts';
import type { LeftRequests } from './left-requests.ts';

interface BeginOnGenerationParts {
  readonly log: EventLog;
  readonly dataFolder: string;
  readonly journal: Journal;
  readonly left: LeftRequests;
  readonly note: KeptNote;
  readonly clock: () => number;
  readonly logger: Logger;
}

/**
 * Somebody has accepted a loss of the ledger for all that read it: this folder's gateway begins on the generation that
 * is there now. Before its views are open. @throws EventLogError when the log does not answer
 */
export async function beginOnGeneration(identity: LedgerIdentity, parts: BeginOnGenerationParts): Promise<void> {
  const { log, clock, logger, left, note } = parts;
  const nowMs = clock();
  const unsettleable = await findUnsettleable(log, left.all, nowMs);
  const actor = 'gateway';
  const entered = await enterGeneration({ ...parts, recovered: left.all, unsettleable, identity, nowMs, actor });
  note.forget();
  left.beginOnNextGeneration(unsettleable);
  for (const { requestId, accountId, cause } of unsettleable)
    logger.error({ requestId, accountId, cause }, 'a request of the last run is lost with a part of the ledger');
  logger.warn(
    { ...identity, ...entered },
    'a loss of the ledger was accepted; this gateway begins on its new generation',
  );
}
