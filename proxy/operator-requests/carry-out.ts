import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { AccountId } from '../../contracts/ids.ts';
import { orAborted } from '../../ledger/or-aborted.ts';
import { areViewsOf, readLedgerOfViews } from '../../projections/known-views.ts';
import { readParked, writeParked } from '../../projections/parked-accounts.ts';
import type { Projections } from '../../projections/projections.ts';
import { switchFiles, UNKEPT } from '../../projections/switched-file.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import type { Asked } from './operator-request.ts';

interface AskedParts {
  readonly projections: Projections;
  readonly dataFolder: string;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Does in a gateway what an operator asks for. @throws Error where it is not done; then all is as it was */
export async function carryOut(asked: Asked, parts: AskedParts, signal: AbortSignal): Promise<void> {
  const { projections, dataFolder } = parts;
  switch (asked.type) {
    case 'switch-views':
      return switchViews(asked.to, parts, signal);
    case 'park':
      // First what a restart knows it by.
      writeParked(dataFolder, asked.accountId, asked.reason);
      projections.park(asked.accountId, asked.reason);
      return;
    case 'unpark':
      return unpark(asked.accountId, parts, signal);
    default:
      asked satisfies never;
  }
}

/** An operator's word ends also while the log is away: what has waited is read, and the account served, as soon as it answers. */
async function unpark(
  accountId: AccountId,
  { projections, dataFolder, logger }: AskedParts,
  signal: AbortSignal,
): Promise<void> {
  const parked = readParked(dataFolder).find((one) => one.accountId === accountId);
  const away = Promise.withResolvers<'away'>();
  try {
    const reading = projections.unpark(accountId, () => away.resolve('away'));
    const isAway = (await orAborted(Promise.race([reading, away.promise]), signal)) === 'away';
    const why = projections.accounts.whyAside(accountId);
    // Nobody's word was to be ended, and what it is set aside by is there still.
    if (parked === undefined && why !== null && !isAway) throw new Error(why);
    writeParked(dataFolder, accountId, null);
    reading.catch((error: unknown) => {
      logger.warn({ err: error, accountId }, 'the account was not read again; the next start does');
    });
  } catch (error) {
    if (parked !== undefined) projections.park(accountId, parked.reason);
    throw error;
  }
}

async function switchViews(
  to: 'rebuild' | 'previous',
  { projections, dataFolder, logger }: AskedParts,
  signal: AbortSignal,
): Promise<void> {
  const files = viewFilesOf(dataFolder);
  const candidate = files[to];
  if (!existsSync(candidate)) throw new Error(`there is no ${candidate}`);
  if (!areViewsOf(candidate, readLedgerOfViews(files.live)))
    throw new Error(`${candidate} is of another ledger, or of another generation of it`);
  const move = (): void => {
    const reason = switchFiles(files, candidate);
    if (reason !== null) logger.warn({ reason }, UNKEPT);
  };
  await projections.switchTo(candidate, move, signal);
}
