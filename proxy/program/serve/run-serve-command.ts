import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Configuration } from '../../../contracts/configuration.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { loopDelayOfProcess } from '../../loop-delay.ts';
import type { Tracing } from '../../observation/tracing.ts';
import { type CommandContext, CommandError, configurationFile, EXIT, globalOptions } from '../command-context.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { beginLedger, ledgerToBegin, makeDataFolder } from '../ledger-file.ts';
import { proveListenable } from '../listening.ts';
import { startedWithOf } from '../next-command.ts';
import { accessLogPlace, programLogger } from '../program-logger.ts';
import type { StopOnSignals } from '../stop-on-signals.ts';
import { UnusableError } from '../unusable-error.ts';
import { warningsToLog } from '../warnings-to-log.ts';
import { CANNOT } from './become-ready.ts';
import { type CatalogNotice, catalogAtStart, readConfiguredCatalog } from './catalog-at-start.ts';
import { fewDescriptors } from './enough-descriptors.ts';
import { openDemoAccount } from './first-run.ts';
import { Gateway } from './gateway.ts';
import { listenedPlaces } from './listened-places.ts';
import { banner, readyLine } from './ready-words.ts';
import { rebuildInProcess } from './rebuild-process.ts';
import { tightenFolder } from './tighten-folder.ts';

export interface ServeOptions {
  readonly host?: string;
  readonly port?: number;
}

interface ServeContext extends CommandContext {
  /** As they are taken already; from here on they stop what there is to stop. */
  readonly signals: StopOnSignals;
}

/** Serves until SIGTERM, SIGINT or SIGHUP, then stops in order. @throws CommandError, EventLogError, JournalError, LedgerLostError, ListenError, UnusableError */
export async function runServeCommand(options: ServeOptions, command: Command, context: ServeContext): Promise<void> {
  const { data, json } = globalOptions(command);
  const file = configurationFile(context, command);
  const configuration = withListen(
    readConfiguration({
      file,
      data,
      environment: context.environment,
      callsProviders: true,
    }),
    options,
  );
  const few = fewDescriptors();
  if (few !== null) throw new CommandError(few, EXIT.usage);
  const logger = programLogger(configuration);
  warningsToLog(logger);
  const interrupted = interruptedBy(context.signals, logger);
  const started = boundStart(interrupted, context);
  // Where a gateway has run there is nothing to begin, and whoever runs on the folder is told before whoever has the port.
  if (!existsSync(journalFolder(configuration.data))) await proveListenable(listenedPlaces(configuration));
  const configured = readConfiguredCatalog(configuration);
  const startedWith = startedWithOf(context);
  if (configured.type === 'unusable' && ledgerToBegin(configuration) !== null) throw configured.error;
  let begun = beginLedger(configuration);
  makeDataFolder(configuration.data);
  tighten(configuration.data, logger);
  const unusable = Promise.withResolvers<never>();
  // Whatever fails because of it fails in words of its own.
  let reason: unknown = null;
  unusable.promise.catch((error: unknown) => {
    reason = error;
  });
  const onUnusable = (error: Error): void => {
    context.onEnding?.(error);
    unusable.reject(error);
  };
  const onFaults = (faults: readonly string[]): void =>
    onUnusable(new CommandError(`the event log cannot be used as it is:\n${faults.join('\n')}`, EXIT.unavailable));
  let onLost = (error: Error): void => onUnusable(new UnusableError(CANNOT.useLog, error));
  const tracing = await tracingOf(configuration, logger);
  const log = await context.openEventLog(configuration, { logger, onFaults, onLost: (error) => onLost(error) });
  let catalog: CatalogNotice | null = null;
  try {
    if (interrupted.aborted) return;
    const gateway = await Gateway.start({
      configuration,
      log,
      logger,
      ...(configuration.accessLog === 'stdout' ? { accessLog: accessLogPlace(logger) } : {}),
      ...(tracing === null ? {} : { tracing }),
      clock: context.clock,
      monotonic,
      loopDelay: loopDelayOfProcess(),
      rebuildViews: (signal) => rebuildInProcess(configuration, signal),
      onLedgerWhole: async ({ isNew }) => {
        begun ??= isNew ? ledgerPlace(configuration) : null;
        if (begun !== null) logger.info({ ledger: begun }, 'a new ledger was begun');
        catalog = await catalogAtStart(context, log, { configured, startedWith });
        if (catalog !== null) tellOf(catalog, logger);
      },
      onUnusable,
    });
    started();
    onLost = (error) => gateway.logLost(error);
    const stopped = Promise.race([
      stopWhen(interrupted, gateway),
      unusable.promise.catch((error: unknown) => stopBecause(error, gateway, logger)),
    ]);
    stopped.catch(() => undefined);
    const told = async (): Promise<void> => {
      await gateway.whenReady();
      if (interrupted.aborted) return;
      const { trialUsd: trial, product } = configuration;
      const demo =
        configuration.file === null ? await openDemoAccount(context, log, { gateway, trial, product }) : null;
      const words = { begun, demo, catalog, startedWith };
      context.write((json === true ? readyLine : banner)(gateway.url, configuration, words));
    };
    await Promise.race([told(), stopped]).catch(async (error: unknown) => {
      // What was being opened while the gateway was stopped is gone on with by the next start.
      if (interrupted.aborted) return;
      // A process that can admit nothing leaves, so that its supervisor starts it again.
      context.onEnding?.(reason ?? error);
      return stopBecause(reason ?? error, gateway, logger);
    });
    await stopped;
  } catch (error) {
    context.onEnding?.(error);
    throw error;
  } finally {
    await tracing?.close().catch((error: unknown) => logger.warn({ err: error }, 'the last spans are lost'));
    await log.close();
  }
}

/** What it is made of is loaded only where it is wanted. */
async function tracingOf({ tracing }: Configuration, logger: Logger): Promise<Tracing | null> {
  if (tracing === undefined) return null;
  const { OtlpTracing } = await import('../../observation/otlp-tracing.ts');
  return new OtlpTracing(tracing, logger);
}

/** What has ended the gateway is told, whatever else fails while it stops; nobody's stream is waited for long. @throws it */
async function stopBecause(why: unknown, gateway: Gateway, logger: Logger): Promise<never> {
  await gateway
    .stop({ drainMsMax: LIMITS.fatalDrainMs })
    .catch((error: unknown) => logger.error({ err: error }, 'the gateway did not stop in order'));
  throw why;
}

function tighten(data: string, logger: Logger): void {
  const { tightened, loose } = tightenFolder(data);
  if (tightened.length > 0) logger.warn({ files: tightened }, 'these could be read by others, and are closed to them');
  for (const line of loose) logger.warn({ reason: line }, 'the data folder is open to others');
}

const tellOf = ({ message, ...catalog }: CatalogNotice, logger: Logger): void => logger.warn({ catalog }, message);

/** By Node's own steady clock. */
const monotonic = (): number => performance.now();

function withListen(configuration: Configuration, { host, port }: ServeOptions): Configuration {
  const listen = {
    ...configuration.listen,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
  };
  return { ...configuration, listen };
}

/** A second SIGTERM or SIGINT ends the process at once, which loses nothing either. */
function interruptedBy(signals: StopOnSignals, logger: Logger): AbortSignal {
  const interrupted = new AbortController();
  signals.logger = logger;
  signals.stop = () => interrupted.abort();
  return interrupted.signal;
}

/**
 * A start that is told to stop is broken off, or done and then stopped; where that takes too long the process leaves all the same, and the next
 * start finds what it finds after a kill. Returns how the bound ends, when there is a gateway to stop.
 */
function boundStart(interrupted: AbortSignal, { leave }: CommandContext): () => void {
  let end: NodeJS.Timeout | undefined;
  const bound = (): void => {
    end = setTimeout(() => leave?.(0), LIMITS.fatalEndMs);
    end.unref();
  };
  interrupted.addEventListener('abort', bound);
  return () => {
    interrupted.removeEventListener('abort', bound);
    clearTimeout(end);
  };
}

const stopWhen = (interrupted: AbortSignal, gateway: Gateway): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => void gateway.stop().then(resolve, reject);
    if (interrupted.aborted) stop();
    else interrupted.addEventListener('abort', stop);
  });
