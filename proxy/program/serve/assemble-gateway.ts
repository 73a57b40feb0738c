import type { FastifyInstance } from 'fastify';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { RequestId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { WhyNot } from '../../../ledger/account/execute-command.ts';
import { isFolderLocked } from '../../../ledger/journal/folder-lock.ts';
import { isTelling } from '../../../ledger/payments/payment-provider.ts';
import type { Sealer } from '../../../ledger/seals/sealer.ts';
import type { Settlement } from '../../../ledger/settlement/settlement.ts';
import { readUpcastFrom } from '../../../projections/known-views.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { CreditFleet } from '../../admission/credit-fleet.ts';
import { ReloadWaits } from '../../admission/reload-waits.ts';
import { Availability } from '../../availability.ts';
import { GatewayClaim } from '../../claim/gateway-claim.ts';
import { TrustedProxies } from '../../connections/trusted-proxies.ts';
import { UntakenAnswers } from '../../connections/untaken-answers.ts';
import { ExpirySweeper } from '../../expiry-sweeper.ts';
import { FormsAdoption } from '../../forms-adoption.ts';
import { Drains } from '../../forwarding/drains.ts';
import { heldBefore } from '../../held-before.ts';
import { Holds } from '../../holds.ts';
import { InFlight } from '../../in-flight.ts';
import { JournalForgetting } from '../../journal-forgetting.ts';
import { longestRequestMs, longestSettledMs } from '../../longest-request.ts';
import { LoopDelay } from '../../loop-delay.ts';
import { MachineShortages } from '../../machine-shortages.ts';
import { type GatewayMetrics, gatewayMetrics, type MeasuredParts } from '../../metrics/gateway-metrics.ts';
import { PaymentFigures } from '../../metrics/payment-figures.ts';
import { AccessLog } from '../../observation/access-log.ts';
import { RequestFigures } from '../../observation/request-figures.ts';
import { RequestObserver } from '../../observation/request-observer.ts';
import { carryOut } from '../../operator-requests/carry-out.ts';
import { OperatorDesk } from '../../operator-requests/operator-desk.ts';
import { PaymentWebhooks } from '../../payment-webhooks.ts';
import { PaymentsUpkeep } from '../../payments-upkeep.ts';
import { RateLimits } from '../../rate-limits/rate-limits.ts';
import { RecoveredRequests } from '../../recovered-requests.ts';
import { RequestAccounting } from '../../request-accounting.ts';
import { BodyBudget } from '../../request-body/body-budget.ts';
import { BodyThreads } from '../../request-body/body-threads.ts';
import { IntakeTurns } from '../../request-body/intake-turns.ts';
import { RequestCounts } from '../../request-counts.ts';
import { buildServer } from '../../server.ts';
import { StatementCloser } from '../../statement-closer.ts';
import { UnknownKeys } from '../../unknown-keys.ts';
import { UnservedModels } from '../../unserved-models.ts';
import { UpstreamDirectory } from '../../upstream/upstream-directory.ts';
import { ViewsRenewal } from '../../views-renewal.ts';
import { gatewaySealer } from './gateway-sealer.ts';
import { gatewaySettlement } from './gateway-settlement.ts';
import type { OpenedGateway } from './open-gateway.ts';

interface BuiltParts {
  readonly availability: Availability;
  readonly settlement: Settlement;
  readonly accounting: RequestAccounting;
  /** Null where the log is in the data folder itself, so that a copy of the folder has its own. */
  readonly claim: GatewayClaim | null;
  readonly inFlight: InFlight;
  readonly holds: Holds;
  readonly counts: RequestCounts;
  readonly drains: Drains;
  readonly upstreams: UpstreamDirectory;
  readonly bodies: BodyBudget;
  readonly loopDelay: LoopDelay;
  readonly rateLimits: RateLimits;
  readonly observer: RequestObserver;
}

export interface GatewayProcess extends OpenedGateway, BuiltParts {
  readonly recovered: RecoveredRequests;
  /** Null where this proxy has all credit to itself. */
  readonly fleet: CreditFleet | null;
  readonly reloadWaits: ReloadWaits;
  /** Null where they are not configured: then nothing is measured. */
  readonly metrics: GatewayMetrics | null;
  readonly unserved: UnservedModels;
  readonly threads: BodyThreads;
  readonly server: FastifyInstance;
  readonly untaken: UntakenAnswers;
  readonly sweeper: ExpirySweeper;
  readonly closer: StatementCloser;
  readonly payments: PaymentsUpkeep;
  /** Null where no provider tells by itself. */
  readonly webhooks: PaymentWebhooks | null;
  readonly paymentFigures: PaymentFigures;
  readonly formsAdoption: FormsAdoption;
  /** Where commands ask something of it. */
  readonly desk: OperatorDesk;
  /** Null where nobody could rebuild views. */
  readonly renewal: ViewsRenewal | null;
  /** Null where nothing is sealed, for want of a key. */
  readonly sealer: Sealer | null;
}

/** Puts the parts together; nothing of them waits, listens or appends yet. */
export function assembleGateway(opened: OpenedGateway): GatewayProcess {
  const { options, projections, clock } = opened;
  const { configuration } = options;
  const holds = new Holds();
  const counts = new RequestCounts();
  const figures = configuration.metrics.serve === undefined ? null : new RequestFigures(untold(options));
  const observer = observerOf(opened, { counts, figures });
  const inFlight = new InFlight(LIMITS.requestsInFlightMax);
  const rateLimits = new RateLimits({
    ...options,
    configuration: configuration.rateLimits,
    accounts: projections.accounts,
    catalog: () => projections.catalog.state,
    proxiesOf: (account) => fleet?.proxiesOf(account) ?? 1,
  });
  const onFenced = (why: string): void => availability.fence(why);
  const claim = GatewayClaim.of({ ...options, passed: clock.passed, projections, onFenced });
  const threads = new BodyThreads();
  const upstreams = new UpstreamDirectory(configuration.providers, threads);
  const unserved = unservedOf(opened, upstreams);
  const loopDelay = new LoopDelay(options.loopDelay ?? (() => 0));
  const availability = availabilityOf(opened, { claim, unserved, loopDelay });
  const isUnderWay = (requestId: RequestId): boolean => holds.has(requestId) && !recovered.has(requestId);
  const onSettled = (requestId: RequestId, latencyMs: number): void => {
    accounting.settled(requestId);
    metrics?.settled(latencyMs);
  };
  const onAside = (requestIds: readonly RequestId[]): void => accounting.keepAside(requestIds);
  const settlement = gatewaySettlement({ opened, availability, isUnderWay, onSettled, onAside });
  const accounting = accountingOf(opened, { holds, counts, settlement, claim });
  const bodies = new BodyBudget(configuration.bodies);
  const drains = drainsOf(configuration);
  const scarce = { rateLimits, upstreams, drains, bodies, loopDelay, inFlight };
  const built = { ...scarce, availability, holds, counts, accounting, settlement, claim, observer };
  const recovered = recoveredOf(opened, built);
  const sealer = gatewaySealer(opened.options, availability);
  const leaseWaits = (): number => fleet?.queue.waiting ?? 0;
  const reloadWaits = new ReloadWaits({
    ...{ accounts: projections.accounts, holds, clock: options.clock, ...configuration.autoReload },
    bodies: configuration.bodies,
    begin: (accountId) => payments.lookAt(accountId),
  });
  const renewal = renewalOf(opened);
  const renewed = { sealer, renewal };
  const waits = { leaseWaits, reloadWaits };
  const open = () => projections.accounts.paying.open;
  const paymentFigures = new PaymentFigures({ provider: opened.provider.name, open });
  const withCounts = { ...opened, provider: paymentFigures.counted(opened.provider) };
  const metrics =
    figures === null
      ? null
      : metricsOf(opened, { ...built, ...renewed, recovered, unserved, figures, ...waits, paymentFigures });
  const fleet = configuration.proxies === 'many' ? fleetOf(opened, built) : null;
  const server = serverOf(opened, { ...built, fleet, threads, reloadWaits });
  const sweeper = sweeperOf(opened, built);
  const closer = closerOf(opened, built);
  const payments = paymentsOf(withCounts, built);
  const webhooks = webhooksOf(withCounts, built);
  const formsAdoption = formsAdoptionOf(opened, built);
  const parts = {
    recovered,
    fleet,
    reloadWaits,
    metrics,
    unserved,
    threads,
    server,
    untaken: new UntakenAnswers(server.server),
    sweeper,
    closer,
    payments,
    webhooks,
    paymentFigures,
    formsAdoption,
    ...renewed,
  };
  return { ...opened, ...built, ...parts, desk: deskOf(opened) };
}

const untold =
  ({ logger }: Pick<OpenedGateway['options'], 'logger'>) =>
  (error: unknown, requestId: string): void =>
    logger.error({ err: error, requestId }, 'a request that has ended cannot be told of');

function observerOf(
  { options }: OpenedGateway,
  kept: { readonly counts: RequestCounts; readonly figures: RequestFigures | null },
): RequestObserver {
  const { accessLog, tracing, monotonic } = options;
  return new RequestObserver({
    ...kept,
    accessLog: accessLog === undefined ? null : new AccessLog(accessLog, untold(options)),
    tracing: tracing ?? null,
    monotonic,
  });
}

function deskOf({ options, projections }: OpenedGateway): OperatorDesk {
  const { configuration, clock, logger } = options;
  const dataFolder = configuration.data;
  return new OperatorDesk({
    ...{ dataFolder, clock, logger },
    // A command that has views switched holds them locked: one that was killed has nothing done.
    isAwaited: ({ type }) => type !== 'switch-views' || isFolderLocked(viewFilesOf(dataFolder).rebuildFolder),
    carryOut: (asked, signal) => carryOut(asked, { projections, dataFolder, logger }, signal),
  });
}

function renewalOf({ options, renewable }: OpenedGateway): ViewsRenewal | null {
  const { configuration, logger, rebuildViews: rebuild } = options;
  if (rebuild === undefined || configuration.projections.source !== 'log') return null;
  const { live, rebuildFolder } = viewFilesOf(configuration.data);
  const isUnderWay = (): boolean => isFolderLocked(rebuildFolder);
  return new ViewsRenewal({
    whenRenewable: renewable,
    upcastFrom: () => readUpcastFrom(live),
    isUnderWay,
    rebuild,
    logger,
  });
}

const drainsOf = ({ drainsMax, drainsMaxPerAccount, drainMs }: Configuration): Drains =>
  new Drains({ max: drainsMax, maxOfAccount: drainsMaxPerAccount, ms: drainMs });

function availabilityOf(
  { options, clock: watch, projections, journal, ledgerWatch, breaker, unservedProduct }: OpenedGateway,
  { claim, unserved, loopDelay }: Pick<GatewayProcess, 'claim' | 'unserved' | 'loopDelay'>,
): Availability {
  const { configuration, clock } = options;
  return new Availability({
    clock,
    clockDoubt: () => watch.doubt(),
    ledgerDoubt: () => ledgerWatch.doubt(),
    claimDoubt: () => claim?.doubt() ?? null,
    unserved: () => unserved.describe(),
    unservedProduct: () => unservedProduct.describe(),
    shedding: () => loopDelay.describe(),
    projections,
    breaker,
    journal,
    shortages: new MachineShortages({ journal, projections, passedMs: () => performance.now() }),
    source: configuration.projections.source,
    viewsAgeMsMax: configuration.projections.maxAgeMs,
    journalBytesMax: configuration.journal.maxBytes,
  });
}

/** Told at the start (become-ready.ts), and of each catalog that comes after it. */
function unservedOf({ options, projections }: OpenedGateway, upstreams: UpstreamDirectory): UnservedModels {
  const { clock, logger } = options;
  const unserved = new UnservedModels({ catalog: projections.catalog, upstreams, clock, logger });
  projections.catalog.onFolded(() => {
    if (projections.isLive) unserved.tell();
  });
  return unserved;
}

function accountingOf(
  { options, journal, projections, clock: watch }: OpenedGateway,
  { claim, ...moved }: Pick<BuiltParts, 'holds' | 'counts' | 'settlement' | 'claim'>,
): RequestAccounting {
  const { configuration, logger } = options;
  return new RequestAccounting({
    ...moved,
    journal,
    forgetting: new JournalForgetting({ journal, projections, logger }),
    epoch: () => claim?.current?.epoch ?? null,
    mayBeSpentElsewhere: () => claim?.mayBeSpentElsewhere() ?? false,
    passed: watch.passed,
    leasedMs: longestSettledMs(configuration),
    logger,
  });
}

function recoveredOf(
  { options, projections, ledgerWatch: { left } }: OpenedGateway,
  { accounting, settlement, claim, availability }: BuiltParts,
): RecoveredRequests {
  const { configuration, log, clock, logger } = options;
  return new RecoveredRequests({
    ...{ log, accounting, settlement, projections, clock, logger },
    recovered: left.settleable,
    ofEarlierGeneration: left.ofEarlierGeneration,
    isOver: (epoch) => claim?.owns(epoch) ?? true,
    longestMs: longestSettledMs(configuration),
    cannotSettle: (requestId) => availability.cannotSettle(requestId),
  });
}

function metricsOf(
  { options, clock: watch, projections, journal, breaker, unservedProduct }: OpenedGateway,
  {
    recovered,
    settlement,
    ...measured
  }: BuiltParts &
    Pick<GatewayProcess, 'recovered' | 'unserved' | 'sealer' | 'renewal'> &
    Pick<MeasuredParts, 'figures' | 'leaseWaits' | 'reloadWaits' | 'paymentFigures'>,
): GatewayMetrics {
  const pending = (): number => settlement.pending + recovered.count;
  const { clock, accessLog, tracing, configuration } = options;
  const bounds = { journalBytesMax: configuration.journal.maxBytes, data: configuration.data };
  const watched = { watch, projections, journal, breaker, pending, unservedProduct };
  return gatewayMetrics({ ...measured, ...bounds, ...watched, clock, accessLog, tracing });
}

/** Several proxies share the log: this one admits within its leases. */
function fleetOf(opened: OpenedGateway, { holds, claim }: BuiltParts): CreditFleet {
  const { options, clock: watch, projections, breaker } = opened;
  const { configuration, log, logger, clock } = options;
  return new CreditFleet({
    ...{ log, holds, clock, logger, breaker, ...configuration.leases },
    claim: () => claim?.current ?? null,
    accounts: projections.accounts,
    longestRequestMs: longestRequestMs(configuration),
    viewsAgeMsMax: configuration.projections.maxAgeMs,
    mayLease: () => watch.doubt() === null,
  });
}

function serverOf(
  { options, projections }: OpenedGateway,
  built: BuiltParts & Pick<GatewayProcess, 'fleet' | 'threads' | 'reloadWaits'>,
): FastifyInstance {
  const { configuration, log, clock, monotonic, logger } = options;
  const { product, unknownBetas, browserOrigins, connections, chargeInterrupted, clientStallMs } = configuration;
  const { claim, accounting, drains } = built;
  const intake = new IntakeTurns();
  return buildServer({
    ...built,
    ...{ clock, logger, projections, product, unknownBetas, browserOrigins, connections },
    claimDoubt: () => claim?.doubt() ?? null,
    unknownKeys: new UnknownKeys({ log, projections }),
    intake,
    trustedProxies: new TrustedProxies(configuration.trustedProxies),
    forwarding: { accounting, drains, intake, logger, clock, monotonic, chargeInterrupted, clientStallMs },
  });
}

function formsAdoptionOf({ options }: OpenedGateway, { availability }: BuiltParts): FormsAdoption {
  const { configuration, log, clock, logger } = options;
  const mayWrite = (): boolean => availability.refuse() === null;
  const { kafka, eventForms } = configuration;
  const topic = kafka?.topic ?? null;
  return new FormsAdoption({ log, clock, logger, mayWrite, topic, afterMs: eventForms.adoptAfterMs });
}

function paymentsOf(
  { options, projections, provider }: OpenedGateway,
  { availability, holds }: BuiltParts,
): PaymentsUpkeep {
  const { log, clock, logger } = options;
  const mayWrite = (): boolean => availability.refuse() === null;
  return new PaymentsUpkeep({
    log,
    accounts: projections.accounts,
    product: options.configuration.product,
    provider,
    catalog: () => projections.catalog.state,
    clock,
    whyNot: (accountId, events) => heldBefore(holds, accountId, events),
    mayWrite,
    logger,
  });
}

function webhooksOf(
  { options, projections, provider }: OpenedGateway,
  { availability, holds }: BuiltParts,
): PaymentWebhooks | null {
  const { configuration, log, clock, logger } = options;
  const { payments, product } = configuration;
  if (payments.provider === 'manual' || payments.stripe.places.webhookSecrets.length === 0 || !isTelling(provider))
    return null;
  const mayWrite = (): boolean => availability.refuse() === null;
  const whyNot: WhyNot = (accountId, events) => heldBefore(holds, accountId, events);
  return new PaymentWebhooks({
    log,
    accounts: projections.accounts,
    product,
    provider,
    clock,
    whyNot,
    mayWrite,
    logger,
  });
}

function sweeperOf({ options, projections }: OpenedGateway, { holds, availability }: BuiltParts): ExpirySweeper {
  const { configuration, log, clock, logger } = options;
  const mayWrite = (): boolean => availability.refuse() === null;
  const { accounts } = projections;
  return new ExpirySweeper({ log, accounts, holds, clock, lateMs: configuration.expiry.lateMs, mayWrite, logger });
}

function closerOf({ options, projections }: OpenedGateway, { holds, availability }: BuiltParts): StatementCloser {
  const { configuration, log, clock, logger } = options;
  const mayWrite = (): boolean => availability.refuse() === null;
  const { accounts } = projections;
  const { graceMs } = configuration.statements;
  return new StatementCloser({ log, accounts, holds, clock, graceMs, mayWrite, logger });
}
