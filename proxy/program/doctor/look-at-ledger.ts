import type { EventLog } from '../../../contracts/event-log.ts';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';
import { newestEvent } from '../../clock/newest-event.ts';
import { ledgerToBegin } from '../ledger-file.ts';
import { type Check, type Examined, type Finding, type Found, fault, looked, ok, warn } from './finding.ts';
import { faultOfCatalogFile, lookAtCatalog } from './look-at-catalog.ts';
import { lookAtJournal } from './look-at-journal.ts';
import { lookAtProduct } from './look-at-product.ts';
import { faultOfSealPlaces, lookAtSeals } from './look-at-seals.ts';
import { lookAtStatements } from './look-at-statements.ts';
import { lookAtViews } from './look-at-views.ts';

const NOT_LOOKED_AT = warn('not looked at', 'the log comes first');

/** The log, and everything that is compared with it. */
export async function lookAtLedger(examined: Examined): Promise<Finding[]> {
  const { context, configuration, timeMs } = examined;
  let log: EventLog | null = null;
  let isBegun = true;
  const opened = await looked(timeMs, {
    check: 'log',
    advice: 'start it, or look at eventLog in the configuration',
    look: async (signal) => {
      const begins = ledgerToBegin(configuration);
      isBegun = begins === null;
      if (begins !== null)
        return warn(`there is no ledger yet: ${begins}`, 'the first start begins it; or look at --data and --config');
      const found = await context.openEventLog(configuration);
      if (signal.aborted) await found.close();
      else log = found;
      return await describe(found, examined);
    },
  });
  const beside = [lookAtJournal(examined)];
  const checks = checksOf(log, examined, isBegun);
  try {
    const found = [opened];
    // One behind the other: a log that has not answered one of them in time is not asked by all at once.
    for (const check of checks) found.push(await looked(timeMs, check));
    return [...found, ...(await Promise.all(beside))];
  } finally {
    await closed(log, timeMs);
  }
}

async function describe(log: EventLog, { configuration }: Examined): Promise<Found> {
  const software = await log.software?.();
  const [head, newest] = [await log.headPosition(), await newestEvent(log)];
  const where = `${ledgerPlace(configuration)}${software === undefined ? '' : ` (${software})`}`;
  if (head === null) return warn(`${where} may be used, and has no event`, 'the first start begins the ledger');
  const at = newest?.atMs == null ? '' : `, of ${new Date(newest.atMs).toISOString()}`;
  return ok(`${where} may be read and written; its newest event stands at position ${head}${at}`);
}

function checksOf(log: EventLog | null, examined: Examined, isBegun: boolean): Check[] {
  const { context, configuration } = examined;
  const check = (
    name: string,
    advice: string | null,
    look: (log: EventLog) => Promise<Found>,
    needsNoLog: () => Promise<Found | null> = async () => null,
  ): Check => ({
    check: name,
    advice,
    look: async () => (await needsNoLog()) ?? (log === null ? NOT_LOOKED_AT : await look(log)),
  });
  return [
    check('ledger', null, async (log) => {
      const { error, warning } = await context.proveLedger(log, configuration);
      if (error !== null) return fault(error.message);
      return warning === undefined ? ok('has everything that this folder knows of it') : warn(warning);
    }),
    check('clock', 'set the clock of this machine', async (log) => {
      const disagreement = await context.compareClock(log, configuration);
      return disagreement === null ? ok('agrees with the log') : fault(disagreement, 'set the clock of this machine');
    }),
    check(
      'catalog',
      null,
      (log) => lookAtCatalog(log, examined),
      async () => (isBegun ? null : faultOfCatalogFile(configuration)),
    ),
    check('views', null, (log) => lookAtViews(log, examined)),
    check('product', null, (log) => lookAtProduct(log, examined)),
    check('statements', null, (log) => lookAtStatements(log, examined)),
    check(
      'seals',
      null,
      (log) => lookAtSeals(log, examined),
      () => faultOfSealPlaces(configuration),
    ),
  ];
}

/** What has not answered may not close in time, either: the process ends without it. */
async function closed(log: EventLog | null, timeMs: number): Promise<void> {
  if (log !== null) await looked(timeMs, { check: 'close', advice: null, look: () => log.close().then(() => ok('')) });
}
