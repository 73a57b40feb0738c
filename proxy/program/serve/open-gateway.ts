import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { noteProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { makeFolders } from '../../../ledger/folder-owner.ts';
import { giveBackMemory } from '../../../ledger/give-back-memory.ts';
import { keepPrefix } from '../../../ledger/identity/stream-prefix.ts';
import type { Journal } from '../../../ledger/journal/journal.ts';
import { roomKeptBytes } from '../../../ledger/journal/kept-room.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { LogBreaker } from '../../../ledger/log-breaker.ts';
import { LogProbe } from '../../../ledger/log-probe.ts';
import type { PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { toldLog } from '../../../ledger/told-log.ts';
import { beginAnew } from '../../../projections/begin-anew.ts';
import { damageOf, setDamagedViewsAside } from '../../../projections/damaged-views.ts';
import { damageOfRowsInThread } from '../../../projections/in-views-thread.ts';
import { hasTable, VIEWS_FILE } from '../../../projections/known-views.ts';
import { readParked } from '../../../projections/parked-accounts.ts';
import { areOfThisProgram, takePreparedViews } from '../../../projections/prepared-views.ts';
import { Projections } from '../../../projections/projections.ts';
import type { FileHas, ViewsFollower } from '../../../projections/projections-options.ts';
import { viewSourceOf } from '../../../projections/sources/view-source-of.ts';
import { finishSwitch, UNKEPT } from '../../../projections/switched-file.ts';
import { upcastLater } from '../../../projections/upcast-later.ts';
import { type ViewFiles, viewFilesOf } from '../../../projections/view-files.ts';
import { wasClosedWhole } from '../../../projections/was-closed-whole.ts';
import { GatewayClock } from '../../clock/gateway-clock.ts';
import type { GatewayOptions } from '../../gateway-options.ts';
import { setHiddenAside } from '../../hidden-accounts.ts';
import type { LedgerWatch } from '../../ledger-watch/ledger-watch.ts';
import { startLedgerWatch } from '../../ledger-watch/start-ledger-watch.ts';
import { proxyIdOf } from '../../proxy-id.ts';
import { tellSetAside } from '../../tell-set-aside.ts';
import { UnservedProduct } from '../../unserved-product.ts';
import { paymentProviderOf } from '../payments/payment-provider-of.ts';

/** What a gateway has of its data folder and its ledger before it is put together. */
export interface OpenedGateway {
  /** With the clock as it is watched: nothing of the gateway reads the machine's as it is. */
  readonly options: GatewayOptions;
  readonly clock: GatewayClock;
  readonly journal: Journal;
  readonly ledgerWatch: LedgerWatch;
  readonly projections: Projections;
  /** Resolves when the views can be rebuilt beside those that are served: not while those cannot be written, for they are of an earlier version. */
  readonly renewable: Promise<void>;
  readonly unservedProduct: UnservedProduct;
  readonly provider: PaymentProvider;
  /** Whether the event log is there: told by it and by who appends and reads, asked by all. */
  readonly breaker: LogBreaker;
  readonly probe: LogProbe;
  /** Resolves when accounts are set aside of which the log hides events. */
  readonly hiddenAside: Promise<void>;
}

/**
 * Opens, in this order: the journal, with which the folder is locked, the clock's watch, the ledger (compared with what the folder knows), the views.
 * @throws JournalError, EventLogError, LedgerLostError; Error where the views' file cannot be opened
 */
export async function openGateway(given: GatewayOptions): Promise<OpenedGateway> {
  const { configuration, logger, clock: wall, monotonic } = given;
  makeFolders(configuration.data);
  keepPrefix(configuration, existsSync(journalFolder(configuration.data)));
  const opened = await openJournal({
    directory: journalFolder(configuration.data),
    bytesMax: configuration.journal.maxBytes,
    ...(given.reserveBytes === undefined ? {} : { reserveBytes: given.reserveBytes }),
  });
  for (const stretch of opened.damaged) logger.error(stretch, 'the journal is damaged here; what can be read is kept');
  if (opened.cutBytes > 0)
    logger.warn({ bytes: opened.cutBytes }, 'the last record of the journal was not written whole and is cut off');
  const proxy = configuration.proxies === 'many' ? proxyIdOf(configuration.data, wall()) : null;
  const clock = new GatewayClock({ wall, monotonic, bounds: configuration.clock, proxy, logger });
  const readsLog = configuration.projections.source === 'log';
  const breaker = new LogBreaker({ clock: clock.now, isRead: !readsLog });
  const probe = new LogProbe({ log: given.log, breaker });
  const log = toldLog(given.log, breaker, readsLog ? undefined : () => probe.readFailed());
  const options = { ...given, log, clock: clock.now };
  const views = join(configuration.data, VIEWS_FILE);
  const onDamaged: OnDamaged = (reason, file) =>
    logger.error({ reason, file }, 'views.db cannot be read as views: it is set aside, and made anew from the log');
  const files = viewFilesOf(configuration.data);
  tryToFinishSwitch(files, logger);
  const damage = damageOf(views);
  if (damage !== null) onDamaged(damage, setDamagedViewsAside(views));
  const ledgerWatch = await startLedgerWatch(options, opened);
  // A generation that has begun has put away by now what was of the one before.
  const isOthers = readsLog && areOfThisProgram(views) === false;
  const renewable = Promise.withResolvers<void>();
  const projections = await Projections.start({
    log,
    // However many accounts there are: whoever asks whether the process lives has an answer meanwhile, and nobody else has.
    prepare: async (signal) => {
      const has = isOthers ? await prepareViews(files, options, renewable, signal) : 'any';
      // Also what has just come into their place: it may be of a command that was killed.
      const areWhole = await haveWholeRows(views, { onDamaged, signal });
      if (typeof has === 'string' || !areWhole) renewable.resolve();
      return areWhole ? has : 'any';
    },
    source: await viewSourceOf(configuration, {
      log,
      clientId: proxyIdOf(configuration.data, options.clock()),
      ledger: ledgerWatch.whenWhole,
      logger,
    }),
    clock: options.clock,
    path: views,
    persist: true,
    parked: readParked(configuration.data),
    onDamaged,
    onUnwritten: (error) => logger.error({ err: error }, 'the views cannot be written for now; it is tried on and on'),
    onWrittenAgain: () => logger.info('the views are written again, with what their file lacked'),
    onLedgerEvent: (event) => ledgerWatch.heard(event),
  });
  noteProviders(configuration);
  if (readsLog) projections.follow(readsOf(breaker));
  const hiddenAside = projections.whenRestored().then(() => {
    // The look at all restored accounts has made most of what the start needs, and nobody is served yet.
    if (projections.checkpoint !== null) giveBackMemory();
    tellSetAside(projections.accounts.setAside, logger);
    return setHiddenAside(log, projections, logger);
  });
  const unservedProduct = new UnservedProduct({ product: configuration.product, projections, logger });
  const provider = await paymentProviderOf(configuration, { log, clock: options.clock });
  return {
    ...{ hiddenAside, options, clock, journal: opened.journal, ledgerWatch, projections, provider, breaker, probe },
    unservedProduct,
    renewable: renewable.promise,
  };
}

/** What it is about are views that nobody serves from: who does goes on without it. */
function tryToFinishSwitch(files: ViewFiles, logger: GatewayOptions['logger']): void {
  try {
    finishSwitch(files);
  } catch (error) {
    logger.warn({ reason: error instanceof Error ? error.message : String(error) }, UNKEPT);
  }
}

/**
 * A gateway that was killed leaves a file that is whole: SQLite sees to that. But where a machine has lost its power, or a file was copied or put back
 * meanwhile, it may not be, and whatever is admitted by its rows would be wrong: until all of them were looked at nothing is.
 * Whether they are what they were; where they are not, all is made anew.
 */
async function haveWholeRows(
  path: string,
  { onDamaged, signal }: { readonly onDamaged: OnDamaged; readonly signal: AbortSignal },
): Promise<boolean> {
  if (!existsSync(path) || wasClosedWhole(path)) return true;
  // Of a new ledger: it says of which, and nothing else yet. A thread that looks loads half the program for it: 9 MB of an idle gateway.
  if (!hasTable(path, 'checkpoint')) return true;
  const damage = await damageOfRowsInThread(path, signal);
  if (damage === null) return true;
  onDamaged(
    damage,
    beginAnew(path, () => setDamagedViewsAside(path)),
  );
  return false;
}

type OnDamaged = (reason: string, file: string | null) => void;

/** @param renewable resolved once the live views are made of those of before */
async function prepareViews(
  files: ViewFiles,
  { logger, configuration }: GatewayOptions,
  renewable: PromiseWithResolvers<void>,
  signal: AbortSignal,
): Promise<FileHas> {
  const onUnmade = (reason: string): void =>
    logger.error({ reason }, 'views.db is of an earlier version, and cannot be made one of this');
  // Beside the journal, whose reserve is there by now.
  const keepFreeBytes = roomKeptBytes(configuration.data);
  const onUnkept = (reason: string): void => logger.warn({ reason }, UNKEPT);
  const prepared = await takePreparedViews({ files, keepFreeBytes, onUnmade, onUnkept }, signal);
  if (prepared.type === 'kept')
    logger.warn(
      { kept: files.previous },
      'views.db is of another version: it is kept for that, and all is folded anew before anything is served',
    );
  if (prepared.type === 'folded')
    logger.warn(
      { prepared: prepared.path },
      'views.db is of another version: what was made of this one takes its place',
    );
  const onMade = (from: ReadonlyMap<string, number>): void =>
    logger.warn(
      { versions: Object.fromEntries(from) },
      'views.db is of an earlier version: it is served from, read as one of this, until the views are rebuilt beside it',
    );
  if (prepared.type === 'upcast') onMade(prepared.from);
  if (prepared.type !== 'unmade') return prepared.type === 'kept' ? 'any' : 'made';
  logger.warn('views.db is served from as it is, and not written until there is room for one of this version');
  const made = (from: ReadonlyMap<string, number>): void => {
    onMade(from);
    renewable.resolve();
  };
  return upcastLater({ files, dataFolder: configuration.data, onUnmade, onMade: made, onUnkept });
}

/** Views that read the log itself are those who see whether it can be read. */
const readsOf = (breaker: LogBreaker): ViewsFollower => ({
  onLive: () => breaker.readsBack(),
  onDropped: () => breaker.readsLost(),
  onStopped: () => breaker.readsLost(),
});
