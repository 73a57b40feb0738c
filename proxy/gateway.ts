import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Configuration } from '../contracts/configuration.ts';
import type { EventLog } from '../contracts/event-log.ts';
import { LIMITS } from '../contracts/limits.ts';
import { rateCardOf } from '../ledger/catalog/catalog-state.ts';
import { type Journal, openJournal, type RecoveredRequest } from '../ledger/journal/journal.ts';
import { examineRecovered } from '../ledger/settlement/recover-requests.ts';
import { Settlement } from '../ledger/settlement/settlement.ts';
import { Projections } from '../projections/projections.ts';
import { CreditFleet } from './admission/credit-fleet.ts';
import { Holds } from './admission/holds.ts';
import { longestRequestMs } from './admission/longest-request.ts';
import { UNLIMITED } from './admission/rate-limit.ts';
import { ExpirySweeper } from './expiry-sweeper.ts';
import { InFlight } from './in-flight.ts';
import { proxyIdOf } from './proxy-id.ts';
import { Drains } from './relay/drains.ts';
import { RequestAccounting } from './request-accounting.ts';
import { buildServer } from './server.ts';
import { UpstreamDirectory } from './upstream/upstream-directory.ts';

export interface GatewayOptions {
  readonly configuration: Configuration;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly clock: () => number;
}

/**
 * One gateway process: server, journal, settlement and views around one event log.
 *
 *   start: journal → views (catching up) → listening, not ready → caught up → journal's requests settled → ready
 *   stop:  not ready → no new connections → streams drained, then cut → settlements flushed → all closed
 */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #journal: Journal;
  readonly #projections: Projections;
  readonly #settlement: Settlement;
  readonly #upstreams: UpstreamDirectory;
  readonly #inFlight = new InFlight(LIMITS.requestsInFlightMax);
  readonly #server: FastifyInstance;
  readonly #sweeper: ExpirySweeper;
  /** Null where this proxy has all credit to itself. */
  readonly #fleet: CreditFleet | null;
  readonly #ready: Promise<void>;
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';
  #fault: string | null = null;
  #stopping: Promise<void> | null = null;

  private constructor(
    options: GatewayOptions,
    journal: Journal,
    projections: Projections,
    recovered: readonly RecoveredRequest[],
  ) {
    const { configuration, logger, clock, log } = options;
    this.#options = options;
    this.#journal = journal;
    this.#projections = projections;
    this.#upstreams = new UpstreamDirectory(configuration.providers);
    const holds = new Holds();
    this.#settlement = new Settlement({
      log,
      book: projections.accounts,
      clock,
      onSettled: (requestId) => {
        holds.release(requestId);
        journal.settle([requestId]);
      },
      onStuck: (requestId, error) =>
        logger.fatal({ err: error, requestId }, 'a request cannot be settled; the journal keeps it'),
      onLogAway: (error) => logger.error({ err: error }, 'the event log does not answer; usage stays in the journal'),
    });
    this.#fleet = configuration.proxies === 'many' ? this.#joinFleet(holds) : null;
    const accounting = new RequestAccounting({ journal, holds, settlement: this.#settlement, logger });
    this.#server = buildServer({
      clock,
      logger,
      projections,
      holds,
      fleet: this.#fleet,
      rateLimit: UNLIMITED,
      upstreams: this.#upstreams,
      inFlight: this.#inFlight,
      notReady: () => this.#notReady(),
      relay: {
        accounting,
        drains: new Drains({ max: LIMITS.drainsMax, ms: configuration.drainMs }),
        logger,
        clock,
        chargeInterrupted: configuration.chargeInterrupted,
      },
    });
    this.#sweeper = new ExpirySweeper({ log, accounts: projections.accounts, clock, logger });
    this.#ready = this.#becomeReady(recovered);
    // Told through `whenReady` and /readyz; a start that fails must not also end the process by itself.
    this.#ready.catch((error: unknown) => logger.fatal({ err: error }, 'the gateway cannot become ready'));
  }

  /** Resolves when the server listens; it may not be ready yet. @throws JournalError, EventLogError, Error of `listen`. */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const { configuration, log, logger } = options;
    mkdirSync(configuration.data, { recursive: true });
    const opened = await openJournal({ directory: join(configuration.data, 'journal') });
    for (const stretch of opened.damaged)
      logger.error(stretch, 'the journal is damaged here; what can be read is kept');
    let gateway: Gateway | null = null;
    const projections = await Projections.start({
      log,
      path: join(configuration.data, 'views.db'),
      persist: true,
      onStopped: (error) => gateway?.fail(error),
    });
    gateway = new Gateway(options, opened.journal, projections, opened.recovered);
    try {
      // A copy, because Fastify writes into what it is given.
      await gateway.#server.listen({ ...configuration.listen });
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

  /** Resolves when requests are admitted. @throws Error when that cannot be. */
  whenReady(): Promise<void> {
    return this.#ready;
  }

  /** Resolves when every finished request is in the ledger. */
  whenSettled(): Promise<void> {
    return this.#settlement.idle();
  }

  get projections(): Projections {
    return this.#projections;
  }

  /** The views stand still: what they admit would be wrong, so nothing is. */
  fail(error: Error): void {
    this.#fault = 'the views have stopped following the ledger';
    this.#options.logger.fatal({ err: error }, this.#fault);
  }

  /** Stops in order; bounded by `shutdownDrainMs` and the flush's own time. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopInOrder();
    return this.#stopping;
  }

  async #stopInOrder(): Promise<void> {
    const { configuration, logger } = this.#options;
    this.#phase = 'stopping';
    const closed = this.#server.close();
    this.#server.server.closeIdleConnections();
    await within(configuration.shutdownDrainMs, this.#inFlight.whenEmpty());
    if (this.#inFlight.count > 0) logger.warn({ requests: this.#inFlight.count }, 'requests are cut by the shutdown');
    this.#inFlight.cutAll();
    await within(LIMITS.shutdownFlushMs, this.#settlement.idle());
    if (this.#settlement.pending > 0)
      logger.error(
        { requests: this.#settlement.pending },
        'not settled at the end; the journal keeps them for the next start',
      );
    await within(LIMITS.shutdownFlushMs, this.#fleet?.upkeep.close() ?? Promise.resolve());
    this.#settlement.close();
    this.#server.server.closeAllConnections();
    await closed;
    await this.#upstreams.close();
    await this.#sweeper.close();
    await this.#projections.close();
    await this.#journal.close();
  }

  /** Several proxies share the log: this one admits within its leases. */
  #joinFleet(holds: Holds): CreditFleet {
    const { configuration, log, logger, clock } = this.#options;
    const projections = this.#projections;
    return new CreditFleet({
      proxy: proxyIdOf(configuration.data, clock()),
      log,
      accounts: projections.accounts,
      holds,
      clock,
      logger,
      longestRequestMs: longestRequestMs(configuration),
      slackMs: configuration.leases.slackMs,
      isLogAway: () => !projections.caughtUp,
    });
  }

  async #becomeReady(recovered: readonly RecoveredRequest[]): Promise<void> {
    await this.#projections.whenCaughtUp();
    await this.#settleRecovered(recovered);
    this.#phase = 'serving';
  }

  /** Requests of an earlier run: settled before any new one is admitted, so that their cost counts. */
  async #settleRecovered(recovered: readonly RecoveredRequest[]): Promise<void> {
    if (recovered.length === 0) return;
    const { log, logger, clock } = this.#options;
    const { unsettled, recorded } = await examineRecovered(log, recovered, clock());
    this.#journal.settle(recorded);
    const catalog = this.#projections.catalog.state;
    for (const { accountId, usage, leaseId } of unsettled) {
      const card = rateCardOf(catalog, usage.rateCard);
      if (card === null)
        throw new Error(`${usage.requestId} names rate card ${usage.rateCard.hash}, which the catalog never had`);
      this.#settlement.submit(accountId, usage, card, leaseId);
    }
    await this.#settlement.idle();
    logger.info({ settled: unsettled.length, wereSettled: recorded.length }, 'requests of the last run are settled');
  }

  #notReady(): string | null {
    if (this.#fault !== null) return this.#fault;
    if (this.#phase === 'stopping') return 'the gateway is stopping';
    if (this.#phase === 'starting' || !this.#projections.caughtUp) return 'the gateway is catching up with its ledger';
    return this.#journal.writable ? null : 'the journal of usage is full or cannot be written';
  }
}

async function within(ms: number, done: Promise<void>): Promise<void> {
  const timer = new AbortController();
  await Promise.race([done, delay(ms, undefined, { signal: timer.signal }).catch(() => undefined)]);
  timer.abort();
}
