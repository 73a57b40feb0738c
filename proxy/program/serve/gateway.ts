import type { AddressInfo } from 'node:net';
import { LedgerLostError } from '../../../ledger/identity/ledger-lost.ts';
import type { ViewsLost } from '../../../projections/sources/view-source.ts';
import type { GatewayOptions } from '../../gateway-options.ts';
import type { PaymentFigures } from '../../metrics/payment-figures.ts';
import type { PaymentWebhooks } from '../../payment-webhooks.ts';
import { proxyIdOf } from '../../proxy-id.ts';
import { addressOf, listenAt } from '../listening.ts';
import { type MetricsServer, type Post, startMetricsServer } from '../metrics-server.ts';
import { UnusableError } from '../unusable-error.ts';
import { assembleGateway, type GatewayProcess } from './assemble-gateway.ts';
import { becomeReady, CANNOT } from './become-ready.ts';
import { ledgerKeys, sealStatus } from './gateway-sealer.ts';
import { metricsPlace, servedPlace } from './listened-places.ts';
import { type OpenedGateway, openGateway } from './open-gateway.ts';
import { stopInOrder } from './stop-in-order.ts';

const BEHIND = 'the source of the views is behind the ledger';
const MISSING = 'there is no topic for the views to come from; it is looked for';
const LOG_AWAY = 'the event log is away; it is looked for';
/** By where the views come from. */
const LOST: Readonly<Record<'log' | 'kafka', Readonly<Record<ViewsLost, string>>>> = {
  log: { source: LOG_AWAY, missing: MISSING, behind: BEHIND, log: LOG_AWAY },
  kafka: {
    source: 'the source of the views is away; it is looked for',
    missing: MISSING,
    behind: BEHIND,
    log: LOG_AWAY,
  },
};

/**
 * One gateway process: server, journal, settlement and views around one event log.
 *
 *   open-gateway      journal → ledger compared → views
 *   assemble-gateway  what a request meets, from the server to its settlement
 *   become-ready      listening, not ready → views of an earlier version made ones of this → caught up → clock compared → name claimed → journal settled → ready
 *                     (without the log: views as they were → journal's requests held → ready, degraded, without leases)
 *   stop-in-order     not ready → no new connections → what is read answered, streams drained and taken, then cut → settlements flushed → all closed
 */
export class Gateway {
  readonly process: GatewayProcess;
  readonly #ready = Promise.withResolvers<void>();
  #metricsServer: MetricsServer | null = null;
  #isUnusable = false;
  #stopping: Promise<void> | null = null;

  private constructor(opened: OpenedGateway) {
    const { options, journal, ledgerWatch, projections } = opened;
    const { configuration, clock } = options;
    this.process = assembleGateway(opened);
    // Told through `whenReady`, `onUnusable` and /readyz: whoever has started it decides what becomes of the process.
    this.#ready.promise.catch(() => undefined);
    ledgerWatch.follow(projections, proxyIdOf(configuration.data, clock()), {
      onLost: (error) => this.#unusable(error),
      onFailed: (error) => this.#unusable(new UnusableError(CANNOT.compareLedger, error)),
    });
    void journal.failed.then((error) => this.#unusable(new UnusableError(CANNOT.writeJournal, error)));
    projections.follow({
      onStopped: (error) => this.fail(error),
      onLive: ({ wasLost }) => {
        options.logger.info('the views follow the ledger');
        if (wasLost) void ledgerWatch.lookAgain();
      },
      onDropped: (error, isNews) => {
        const lost = projections.lost ?? 'source';
        if (isNews) options.logger.error({ reason: error.message }, LOST[configuration.projections.source][lost]);
        if (lost !== 'behind') this.#serveWithoutLog();
      },
    });
    void this.process.claim?.failed.then((error) => this.#unusable(new UnusableError(CANNOT.endClaimDoubt, error)));
    void this.#becomeReady();
  }

  /** When it listens; it may not be ready. @throws JournalError, EventLogError, ListenError, LedgerLostError */
  static async start(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(await openGateway(options));
    try {
      const { server } = gateway.process;
      const { listen } = options.configuration;
      await listenAt(servedPlace(options.configuration), async () =>
        server.listen({ ...listen, host: await addressOf(listen.host) }),
      );
      await gateway.#serveMetrics();
      // What an operator asks is asked of views that have read their file.
      void gateway.process.projections.whenRestored().then(() => gateway.process.desk.start());
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return gateway;
  }

  get url(): string {
    const { address, port, family } = this.process.server.server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** Resolves when the start is done: requests are admitted, unless `availability` has a reason. @throws UnusableError, LedgerLostError */
  whenReady(): Promise<void> {
    return this.#ready.promise;
  }

  /** Where GET /metrics is answered; null where that is not configured. */
  get metricsUrl(): string | null {
    return this.#metricsServer?.url ?? null;
  }

  /** The views stand still: what they admit would be wrong, so nothing is. */
  fail(error: Error): void {
    this.#unusable(error instanceof LedgerLostError ? error : new UnusableError(CANNOT.followLedger, error));
  }

  /** Nothing more is settled, and whoever waits for the log would wait for ever. */
  logLost(error: Error): void {
    // The end waits for no settlement then: the journal has it.
    this.process.breaker.giveUp();
    this.#unusable(new UnusableError(CANNOT.useLog, error));
  }

  /** Stops in order; bounded by `shutdownDrainMs`, or less where less is given, and the flush's own time. Idempotent. */
  stop({ drainMsMax = Number.POSITIVE_INFINITY }: { readonly drainMsMax?: number } = {}): Promise<void> {
    const drainMs = Math.min(drainMsMax, this.process.options.configuration.shutdownDrainMs);
    this.#stopping ??= stopInOrder(this.process, this.#metricsServer, drainMs);
    return this.#stopping;
  }

  /**
   * Nothing is served from here on, also where it serves already, and that will not change by itself: a supervisor starts
   * it again, and the start says what is wrong. One fault can be found in several places; the first to tell it is heard.
   */
  #unusable(error: LedgerLostError | UnusableError): void {
    if (this.#stopping !== null || this.#isUnusable) return;
    this.#isUnusable = true;
    const { availability, options } = this.process;
    const { what } = error;
    availability.fail(`${what}; the log of this gateway says why`);
    options.logger.fatal({ reason: error.message }, what);
    options.logger.debug({ err: error }, what);
    this.#ready.reject(error);
    options.onUnusable?.(error);
  }

  async #serveMetrics(): Promise<void> {
    const { options, metrics, sealer, webhooks, paymentFigures } = this.process;
    const place = metricsPlace(options.configuration);
    if (place === null || metrics === null) return;
    const { registry } = metrics;
    const pages = {
      '/.well-known/ledger-keys': () => ledgerKeys(sealer),
      '/status': () => ({ seals: sealStatus(sealer) }),
    };
    const posts = webhooks === null ? {} : { '/webhooks/stripe': heardBy(webhooks, paymentFigures) };
    this.#metricsServer = await listenAt(place, () => startMetricsServer({ ...place, registry, pages, posts }));
  }

  async #becomeReady(): Promise<void> {
    try {
      await becomeReady(this.process);
      this.#ready.resolve();
    } catch (error) {
      // A stop in the middle of the start is no failure of it.
      const isTold = error instanceof LedgerLostError || error instanceof UnusableError;
      this.#unusable(isTold ? error : new UnusableError('the gateway cannot start', error));
    }
  }

  /** The log is away before the settling: views of before serve, if they do; the clock is compared with theirs. */
  #serveWithoutLog(): void {
    const { availability, projections, recovered, clock, unserved, options } = this.process;
    if (this.#stopping !== null) return;
    if (!availability.isServing) {
      if (projections.ageMs(options.clock()) === null || !recovered.hold()) return;
      if (projections.restoredMarkMs !== null)
        clock.hasBeen(projections.restoredMarkMs, 'the time at which the views were last current');
      availability.serve();
      unserved.tell();
    }
    if (availability.refuse() === null) this.#ready.resolve();
  }
}

const heardBy =
  (webhooks: PaymentWebhooks, figures: PaymentFigures): Post =>
  async (body, headers) => {
    // One that stands twice is none.
    const [signature = '', ...others] = headers['stripe-signature'] ?? [];
    const answer = await webhooks.hear(body, others.length === 0 ? signature : '');
    figures.heard(answer.status);
    return answer;
  };
