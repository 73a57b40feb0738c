import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { LIMITS } from '../contracts/limits.ts';
import { LedgerLostError } from '../ledger/identity/ledger-lost.ts';
import { type Journal, openJournal } from '../ledger/journal/journal.ts';
import { journalFolder } from '../ledger/journal/segment-folder.ts';
import { type MetricsServer, startMetricsServer } from '../ledger/metrics-server.ts';
import { Settlement } from '../ledger/settlement/settlement.ts';
import { Projections } from '../projections/projections.ts';
import { viewFeedOf } from '../projections/view-feed-of.ts';
import { CreditFleet } from './admission/credit-fleet.ts';
import { Holds } from './admission/holds.ts';
import { longestRequestMs } from './admission/longest-request.ts';
import { UNLIMITED } from './admission/rate-limit.ts';
import { Availability } from './availability.ts';
import { gatewayClaim } from './claim/gateway-claim.ts';
import type { ProxyClaim } from './claim/proxy-claim.ts';
import { GatewayClock } from './clock/gateway-clock.ts';
import { logExceptions } from './exception-log.ts';
import { ExpirySweeper } from './expiry-sweeper.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { InFlight } from './in-flight.ts';
import { JournalForgetting } from './journal-forgetting.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import { type GatewayMetrics, gatewayMetrics } from './metrics/gateway-metrics.ts';
import { RequestCounts } from './metrics/request-counts.ts';
import { proxyIdOf } from './proxy-id.ts';
import { RecoveredRequests } from './recovered-requests.ts';
import { Drains } from './relay/drains.ts';
import { RequestAccounting } from './request-accounting.ts';
import { buildServer } from './server.ts';
import { startLedgerWatch } from './start-ledger-watch.ts';
import { UpstreamDirectory } from './upstream/upstream-directory.ts';
import { within } from './within.ts';

/**
 * One gateway process: server, journal, settlement and views around one event log.
 *
 *   start: journal → ledger compared → views → listening, not ready → caught up → name claimed → journal settled → ready
 *          (without the log: views as they were → journal's requests held → ready, degraded, without leases)
 *   stop:  not ready → no new connections → streams drained, then cut → settlements flushed → all closed
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #journal: Journal;
  readonly #projections: Projections;
  readonly #settlement: Settlement;
  readonly #forgetting: JournalForgetting;
  readonly #upstreams: UpstreamDirectory;
  readonly #inFlight = new InFlight(LIMITS.requestsInFlightMax);
  readonly #server: FastifyInstance;
  readonly #sweeper: ExpirySweeper;
  /** Null where the log is in the data folder itself, so that a copy of the folder has its own. */
  readonly #claim: ProxyClaim | null;
  /** Null where this proxy has all credit to itself. */
  readonly #fleet: CreditFleet | null;
  readonly #availability: Availability;
  readonly #recovered: RecoveredRequests;
  readonly #ledgerWatch: LedgerWatch;
  /** Null where they are not configured: then nothing is measured. */
  readonly #metrics: GatewayMetrics | null;
  readonly #clock: GatewayClock;
  readonly #ready = Promise.withResolvers<void>();
  #metricsServer: MetricsServer | null = null;
  /** Null before the first word of it. */
  #isInSight: boolean | null = null;
  #stopping: Promise<void> | null = null;

  private constructor(
    options: GatewayOptions,
    journal: Journal,
    projections: Projections,
    watch: GatewayClock,
    ledgerWatch: LedgerWatch,
  ) {
    const { configuration, logger, clock, log } = options;
    const recovered = ledgerWatch.settleable;
    this.#options = options;
    this.#clock = watch;
    this.#ledgerWatch = ledgerWatch;
    this.#journal = journal;
    this.#projections = projections;
    this.#upstreams = new UpstreamDirectory(configuration.providers);
    const holds = new Holds();
    const counts = new RequestCounts();
    const availability = new Availability({
      clock,
      clockDoubt: () => watch.doubt(),
      projections,
      journal,
      source: configuration.projections.source,
      viewsAgeMsMax: configuration.projections.maxAgeMs,
      journalBytesMax: configuration.journal.maxBytes,
    });
    this.#availability = availability;
    logExceptions(projections.accounts, logger);
    this.#forgetting = new JournalForgetting({ journal, projections, logger });
    const settlement = this.#settle(holds, recovered.length > 0);
    this.#settlement = settlement;
    this.#claim = gatewayClaim({ ...options, onFenced: (why) => availability.fence(why) });
    this.#recovered = new RecoveredRequests({
      recovered,
      earlier: ledgerWatch.earlier,
      log,
      journal,
      holds,
      settlement,
      projections,
      isOver: (epoch) => this.#claim?.owns(epoch) ?? true,
      longestMs: longestRequestMs(configuration) + configuration.leases.slackMs / 2,
      clock,
      logger,
    });
    const measured = {
      clock,
      watch,
      availability,
      projections,
      journal,
      pending: () => settlement.pending + this.#recovered.count,
      inFlight: this.#inFlight,
      holds,
      counts,
    };
    this.#metrics = configuration.metrics.serve === undefined ? null : gatewayMetrics(measured);
    this.#fleet = configuration.proxies === 'many' ? this.#joinFleet(holds) : null;
    const { monotonic } = options;
    const accounting = new RequestAccounting({
      epoch: () => this.#claim?.current?.epoch ?? null,
      journal,
      holds,
      settlement,
      counts,
      monotonic,
      logger,
    });
    this.#server = buildServer({
      clock,
      logger,
      projections,
      holds,
      fleet: this.#fleet,
      rateLimit: UNLIMITED,
      unknownBetas: configuration.unknownBetas,
      upstreams: this.#upstreams,
      inFlight: this.#inFlight,
      availability,
      counts,
      relay: {
        accounting,
        drains: new Drains({ max: LIMITS.drainsMax, ms: configuration.drainMs }),
        logger,
        clock,
        chargeInterrupted: configuration.chargeInterrupted,
        clientStallMs: configuration.clientStallMs,
      },
    });
    this.#sweeper = new ExpirySweeper({
      log,
      accounts: projections.accounts,
      holds,
      clock,
      lateMs: configuration.expiry.lateMs,
      mayWrite: () => availability.refuse() === null,
      logger,
    });
    // Told through `whenReady` and /readyz; a start that fails must not also end the process by itself.
    this.#ready.promise.catch((error: unknown) => logger.fatal({ err: error }, 'the gateway cannot become ready'));
    ledgerWatch.follow(projections, proxyIdOf(configuration.data, clock()), (error) => this.#ledgerIsLost(error));
    void this.#becomeReady();
  }

  /**
   * Resolves when the server listens; it may not be ready yet. @throws JournalError, EventLogError, Error of `listen`;
   * LedgerLostError
   */
  static async start(given: GatewayOptions): Promise<Gateway> {
    const { configuration, log, logger, clock: wall, monotonic } = given;
    mkdirSync(configuration.data, { recursive: true });
    const proxy = configuration.proxies === 'many' ? proxyIdOf(configuration.data, wall()) : null;
    const watch = new GatewayClock({ wall, monotonic, bounds: configuration.clock, log, proxy, logger });
    // From here on nothing reads the machine's clock as it is.
    const options = { ...given, clock: watch.now };
    const opened = await openJournal({
      directory: journalFolder(configuration.data),
      bytesMax: configuration.journal.maxBytes,
    });
    for (const stretch of opened.damaged)
      logger.error(stretch, 'the journal is damaged here; what can be read is kept');
    if (opened.cutBytes > 0)
      logger.warn({ bytes: opened.cutBytes }, 'the last record of the journal was not written whole and is cut off');
    const ledgerWatch = await startLedgerWatch(options, opened);
    let gateway: Gateway | null = null;
    const projections = await Projections.start({
      log,
      feed: viewFeedOf(configuration, log, proxyIdOf(configuration.data, options.clock()), ledgerWatch.whenWhole),
      clock: options.clock,
      path: join(configuration.data, 'views.db'),
      persist: true,
      onStopped: (error) => gateway?.fail(error),
      onLive: () => gateway?.logInSight(),
      onDropped: (error) => gateway?.logOutOfSight(error),
      onLedgerEvent: (event) => ledgerWatch.heard(event),
    });
    gateway = new Gateway(options, opened.journal, projections, watch, ledgerWatch);
    try {
      // A copy, because Fastify writes into what it is given.
      await gateway.#server.listen({ ...configuration.listen });
      await gateway.#serveMetrics();
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return gateway;
  }

  get url(): string {
    const { address, port, family } = this.#server.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Resolves when the start is done: requests are admitted, unless `availability` has a reason. @throws Error when that cannot be. */
  whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Where GET /metrics is answered; null where that is not configured. */
  get metricsUrl(): string | null {
    return this.#metricsServer?.url ?? null;
  }

  /** Resolves when every finished request is in the ledger. */
  whenSettled(): Promise<void> {
    return this.#settlement.idle();
  }

  /** Writes down now, as is done every now and then, what has expired for long enough; tells for how many accounts. */
  sweepExpired(): Promise<number> {
    return this.#sweeper.sweep();
  }

  get projections(): Projections {
    return this.#projections;
  }

  /** The views stand still: what they admit would be wrong, so nothing is. */
  fail(error: Error): void {
    const fault = 'the views have stopped following the ledger';
    this.#availability.fail(fault);
    this.#options.logger.fatal({ err: error }, fault);
  }

  /** The views follow their feed, or do so again. */
  logInSight(): void {
    if (this.#isInSight !== true) this.#options.logger.info('the views follow the ledger');
    if (this.#isInSight === false) void this.#ledgerWatch.lookAgain();
    this.#isInSight = true;
    this.#settlement.logIsBack();
  }

  /** Told again and again while it is looked for in vain. */
  logOutOfSight(error: Error): void {
    const { logger } = this.#options;
    if (this.#isInSight !== false) logger.warn({ err: error }, 'the feed of the views is away; it is looked for');
    this.#isInSight = false;
    this.#serveWithoutLog();
  }

  /** What is served would be of a ledger that is not there: a supervisor starts it again, and the start says what is missing. */
  #ledgerIsLost(error: LedgerLostError): void {
    if (this.#stopping !== null) return;
    const { logger, onLedgerLost } = this.#options;
    this.#availability.fail('the ledger lacks events that this gateway has seen');
    logger.fatal(error.message);
    this.#ready.reject(error);
    onLedgerLost?.(error);
  }

  /** Stops in order; bounded by `shutdownDrainMs` and the flush's own time. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopInOrder();
    return this.#stopping;
  }

  async #stopInOrder(): Promise<void> {
    const { configuration, logger } = this.#options;
    this.#availability.stop();
    this.#recovered.close();
    const closed = this.#server.close();
    this.#server.server.closeIdleConnections();
    await within(configuration.shutdownDrainMs, this.#inFlight.whenEmpty());
    if (this.#inFlight.count > 0) logger.warn({ requests: this.#inFlight.count }, 'requests are cut by the shutdown');
    this.#inFlight.cutAll();
    // Without the log there is nothing to wait for.
    if (!this.#availability.isLogAway) await within(LIMITS.shutdownFlushMs, this.#settlement.idle());
    if (this.#settlement.pending > 0)
      logger.error(
        { requests: this.#settlement.pending },
        'not settled at the end; the journal keeps them for the next start',
      );
    await within(LIMITS.shutdownFlushMs, this.#fleet?.upkeep.close() ?? Promise.resolve());
    this.#settlement.close();
    await this.#claim?.close();
    this.#server.server.closeAllConnections();
    await closed;
    await this.#metricsServer?.close();
    await this.#upstreams.close();
    await this.#sweeper.close();
    await this.#projections.close();
    await this.#ledgerWatch.close();
    await this.#journal.close();
    await this.#clock.close();
  }

  /** Several proxies share the log: this one admits within its leases. */
  #joinFleet(holds: Holds): CreditFleet {
    const { configuration, log, logger, clock } = this.#options;
    const projections = this.#projections;
    return new CreditFleet({
      claim: () => this.#claim?.current ?? null,
      log,
      accounts: projections.accounts,
      holds,
      clock,
      logger,
      longestRequestMs: longestRequestMs(configuration),
      ...configuration.leases,
      isLogAway: () => this.#availability.isLogAway,
      mayLease: () => this.#clock.doubt() === null,
    });
  }

  /** Settlement, which frees what was held and lets the journal forget. */
  #settle(holds: Holds, waitsForEarlier: boolean): Settlement {
    const { log, logger, clock } = this.#options;
    return new Settlement({
      log,
      book: this.#projections.accounts,
      clock,
      waitsForEarlier,
      isUnderWay: (requestId) => holds.has(requestId),
      onSettled: (requestId, usage) => {
        holds.release(requestId);
        this.#forgetting.add(requestId);
        this.#metrics?.settled(clock() - Date.parse(usage.finishedAt));
      },
      onStuck: (requestId, error) => {
        this.#availability.cannotSettle(requestId);
        logger.fatal({ err: error, requestId }, 'a request cannot be settled; the journal keeps it');
      },
      onLogAway: (error) => {
        if (this.#availability.appendsFail())
          logger.error({ err: error }, 'the event log does not answer; usage stays in the journal');
      },
      onLogBack: () => {
        this.#availability.appendsSucceed();
        logger.info({ requests: this.#settlement.pending }, 'the event log answers again; what waits is settled');
      },
    });
  }

  async #serveMetrics(): Promise<void> {
    const { serve } = this.#options.configuration.metrics;
    if (serve === undefined || this.#metrics === null) return;
    this.#metricsServer = await startMetricsServer({ ...serve, registry: this.#metrics.registry });
  }

  /** With the log in sight: what an earlier run left is settled before any new request is admitted. */
  async #becomeReady(): Promise<void> {
    try {
      await this.#ledgerWatch.whenWhole;
      await this.#projections.whenCaughtUp();
      await this.#clock.compare();
      await this.#claim?.take();
      await this.#recovered.settle();
      this.#availability.serve();
      this.#fleet?.upkeep.start();
      this.#ready.resolve();
    } catch (error) {
      // A stop in the middle of the start is no failure of it; a ledger that is lost has been told.
      if (this.#stopping !== null || error instanceof LedgerLostError) return;
      this.#availability.fail('the requests of the last run cannot be settled');
      this.#ready.reject(error);
    }
  }

  /** The log is away before anything could be settled: the views of an earlier run are served from, where they suffice. */
  #serveWithoutLog(): void {
    const { clock } = this.#options;
    if (this.#availability.isServing || this.#stopping !== null) return;
    if (this.#projections.ageMs(clock()) === null || !this.#recovered.hold()) return;
    this.#availability.serve();
    if (this.#availability.refuse() === null) this.#ready.resolve();
  }
}
