import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';
import { ledgerPlace, looksFor } from '../../../ledger/event-log/ledger-place.ts';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { UnpublishableEventError } from '../../../ledger/relay/event-publication.ts';
import { KafkaPublisher } from '../../../ledger/relay/kafka-publisher.ts';
import { RELAY_LIMITS } from '../../../ledger/relay/limits.ts';
import { PublishError } from '../../../ledger/relay/publisher.ts';
import { runRelay } from '../../../ledger/relay/relay.ts';
import { RelayFencedError } from '../../../ledger/relay/relay-claim.ts';
import { RelayMetrics } from '../../../ledger/relay/relay-metrics.ts';
import { untilLogAnswers } from '../../../ledger/until-log-answers.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { listenAt } from '../listening.ts';
import { type MetricsServer, startMetricsServer } from '../metrics-server.ts';
import { programLogger } from '../program-logger.ts';
import { stopOnSignals } from '../stop-on-signals.ts';

export interface RelayProgram {
  readonly configuration: Configuration;
  readonly kafka: KafkaConfiguration;
  readonly context: CommandContext;
  readonly claimMs: number;
  /** Fills the topic with what the ledger has, and ends. */
  readonly fills?: boolean;
}

/** Publishes until SIGTERM, SIGINT or SIGHUP, or until a topic is filled. @throws CommandError, EventLogError, LedgerLostError, ListenError */
export async function runRelayCommand(program: RelayProgram): Promise<void> {
  const { configuration, kafka, context, claimMs, fills = false } = program;
  const logger = programLogger(configuration);
  const name = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`;
  const registry = new Registry();
  const metrics = new RelayMetrics(registry, context.clock);
  const stop = stopOnSignal(logger);
  let faults: CommandError | null = null;
  // One that fills a topic runs beside a relay that has the address.
  const server = fills ? null : await serveMetrics(configuration, registry, logger);
  try {
    const log = await context.openEventLog(configuration, {
      logger,
      onFaults: (lines) => {
        faults = new CommandError(`the event log cannot be used as it is:\n${lines.join('\n')}`, EXIT.unavailable);
        context.onEnding?.(faults);
        stop.abort();
      },
      onLost: (error) => {
        faults ??= new CommandError(`the event log cannot be used any more: ${error.message}`, EXIT.unavailable);
        context.onEnding?.(faults);
        stop.abort();
      },
    });
    try {
      const question = { configuration, context, logger, signal: stop.signal };
      await assertNotLost(log, question);
      if (fills) await assertNotEmpty(log, question);
      const publisher = new KafkaPublisher({ kafka, clientId: name, logger, requestMs: requestMsOf(claimMs) });
      await runRelay({
        log,
        publisher,
        feed: kafka.topic,
        relay: name,
        claimMs,
        metrics,
        logger,
        clock: context.clock,
        place: { where: ledgerPlace(configuration), looks: looksFor(configuration) },
        signal: stop.signal,
        endsCaughtUp: fills,
        onEnding: (error) => context.onEnding?.(commandErrorOf(error)),
      });
      if (faults !== null) throw faults;
      if (fills && stop.signal.aborted)
        throw new CommandError(
          'stopped before the topic was filled; run again, it goes on where it was',
          EXIT.unavailable,
        );
    } catch (error) {
      context.onEnding?.(commandErrorOf(error));
      throw error;
    } finally {
      await log.close();
    }
  } catch (error) {
    throw commandErrorOf(error);
  } finally {
    await server?.close();
  }
}

interface LedgerQuestion extends Pick<RelayProgram, 'configuration' | 'context'> {
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Nothing is claimed in, or published from, a ledger that a gateway would not serve from. @throws LedgerLostError */
async function assertNotLost(log: EventLog, question: LedgerQuestion): Promise<void> {
  const { configuration, context } = question;
  const proven = await answered(() => context.proveLedger(log, configuration), question);
  if (proven?.error != null) throw proven.error;
}

/** A topic is filled with what there is: nothing is where a prefix is mistyped, and no ledger is begun there. @throws CommandError */
async function assertNotEmpty(log: EventLog, question: LedgerQuestion): Promise<void> {
  const head = await answered(async () => ({ position: await log.headPosition() }), question);
  if (head?.position !== null) return;
  const where = ledgerPlace(question.configuration);
  throw new CommandError(
    `${where}: there is no ledger to fill a topic from; look whether that is the place`,
    EXIT.refused,
  );
}

/** However long the log is away; null where the relay is told to stop before. */
async function answered<T>(ask: () => Promise<T>, { logger, signal }: LedgerQuestion): Promise<T | null> {
  const onFirst = ({ message }: Error): void =>
    logger.warn({ reason: message }, 'the event log is away; whether it is whole is asked until it answers');
  try {
    return await untilLogAnswers(ask, { signal, onFirst, pauseMsMax: RELAY_LIMITS.lagCheckMs });
  } catch (error) {
    if (!signal.aborted) throw error;
    return null;
  }
}

/** What is sent with half a claim left is to be answered before the claim is over. */
const requestMsOf = (claimMs: number): number => Math.min(FEED_LIMITS.requestMs, Math.floor(claimMs / 2));

async function serveMetrics(
  { metrics }: Configuration,
  registry: Registry,
  logger: Logger,
): Promise<MetricsServer | null> {
  if (metrics.relay === undefined) return null;
  const { host, port } = metrics.relay;
  const place = { host, port, hostSetting: 'metrics.relay.host', portSetting: 'metrics.relay.port' };
  const server = await listenAt(place, () => startMetricsServer({ host, port, registry }));
  logger.info({ url: server.url }, 'metrics');
  return server;
}

/** A second SIGTERM or SIGINT ends the process at once, which costs others the rest of the claim. */
function stopOnSignal(logger: Logger): AbortController {
  const stop = new AbortController();
  stopOnSignals({ logger, stop: () => stop.abort() });
  return stop;
}

function commandErrorOf(error: unknown): unknown {
  if (error instanceof RelayFencedError || error instanceof UnpublishableEventError)
    return new CommandError(error.message, EXIT.refused);
  if (error instanceof PublishError) return new CommandError(error.message, EXIT.usage);
  return error;
}
