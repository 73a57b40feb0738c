import { ledgerPlace, looksFor } from '../../ledger/event-log/ledger-place.ts';
import type { OpenedJournal } from '../../ledger/journal/open-journal.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { LedgerWatch } from './ledger-watch.ts';

/** Asks whether the ledger is the folder's own and whole. @throws LedgerLostError, with the journal's folder free again. */
export async function startLedgerWatch(
  options: GatewayOptions,
  { journal, recovered }: OpenedJournal,
): Promise<LedgerWatch> {
  const { configuration, log, logger, clock, onLedgerWhole = async () => undefined } = options;
  try {
    const watch = new LedgerWatch({
      log,
      dataFolder: configuration.data,
      where: ledgerPlace(configuration),
      looks: looksFor(configuration),
      recovered,
      journal,
      clock,
      logger,
      onWhole: onLedgerWhole,
    });
    await watch.start();
    return watch;
  } catch (error) {
    await journal.close();
    throw error;
  }
}
