import { mkdirSync } from 'node:fs';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import { type Configuration, readConfiguration } from '../../contracts/configuration.ts';
import { formatUsd } from '../../contracts/money.ts';
import { type CommandContext, CommandError, EXIT, globalOptions } from '../../ledger/commands/command-context.ts';
import { beginLedger } from '../../ledger/commands/ledger-file.ts';
import { programLogger } from '../../ledger/program-logger.ts';
import { tightenFolder } from '../../ledger/tighten-folder.ts';
import { Gateway } from '../gateway.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import { loopDelayOfProcess } from '../loop-delay.ts';
import { type DemoAccount, openDemoAccount, publishFirstCatalog } from './first-run.ts';

export interface ServeOptions {
  readonly host?: string;
  readonly port?: number;
}

/** Serves until SIGTERM or SIGINT, then stops in order. @throws CommandError, EventLogError, JournalError, LedgerLostError, UnusableError */
export async function runServeCommand(options: ServeOptions, command: Command, context: CommandContext): Promise<void> {
  const { config, data, json } = globalOptions(command);
  const configuration = withListen(
    readConfiguration({
      file: config ?? context.environment.GATEWAY_CONFIG ?? null,
      data,
      environment: context.environment,
      callsProviders: true,
    }),
    options,
  );
  const logger = programLogger(configuration);
  const begun = beginLedger(configuration);
  mkdirSync(configuration.data, { recursive: true });
  tighten(configuration.data, logger);
  const unusable = Promise.withResolvers<never>();
  unusable.promise.catch(() => undefined);
  const onFaults = (faults: readonly string[]): void =>
    unusable.reject(new CommandError(`the event log cannot be used as it is:\n${faults.join('\n')}`, EXIT.unavailable));
  const log = await context.openEventLog(configuration, { logger, onFaults });
  if (begun !== null) logger.info({ ledger: begun }, 'a new ledger was begun');
  try {
    const firstRun: FirstRun = { begun, demo: null };
    const onLedgerWhole = async (): Promise<void> => {
      if (configuration.file === null) firstRun.demo ??= await openDemoAccount(context, log, configuration);
      await publishFirstCatalog(context, log, configuration);
    };
    const onUnusable = (error: Error): void => unusable.reject(error);
    const gateway = await startGateway({
      configuration,
      log,
      logger,
      clock: context.clock,
      monotonic,
      loopDelay: loopDelayOfProcess(),
      onLedgerWhole,
      onUnusable,
    });
    const stopped = Promise.race([stopOnSignal(gateway, logger), unusable.promise.finally(() => gateway.stop())]);
    stopped.catch(() => undefined);
    await Promise.race([gateway.whenReady(), stopped]).catch(async (error: unknown) => {
      // A process that can admit nothing leaves, so that its supervisor starts it again.
      await gateway.stop();
      throw error;
    });
    context.write(
      json === true
        ? `${JSON.stringify({ url: gateway.url, data: configuration.data, ...(begun === null ? {} : { begun }), ...firstRun.demo })}\n`
        : banner(gateway.url, configuration, firstRun),
    );
    await stopped;
  } finally {
    await log.close();
  }
}

function tighten(data: string, logger: Logger): void {
  const { tightened, loose } = tightenFolder(data);
  if (tightened.length > 0) logger.warn({ files: tightened }, 'these could be read by others, and are closed to them');
  for (const line of loose) logger.warn({ reason: line }, 'the data folder is open to others');
}

interface FirstRun {
  /** The file of the ledger that this start has begun; null where there was one. */
  readonly begun: string | null;
  demo: DemoAccount | null;
}

/** By Node's own steady clock. */
const monotonic = (): number => performance.now();

async function startGateway(options: GatewayOptions): Promise<Gateway> {
  try {
    return await Gateway.start(options);
  } catch (error) {
    const { host, port } = options.configuration.listen;
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
      throw new CommandError(
        `${host}:${port} is taken; choose another port with --port or listen.port`,
        EXIT.unavailable,
      );
    throw error;
  }
}

function withListen(configuration: Configuration, { host, port }: ServeOptions): Configuration {
  const listen = {
    ...configuration.listen,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
  };
  return { ...configuration, listen };
}

/** The first signal stops in order; a second one ends the process at once, which loses nothing either. */
function stopOnSignal(gateway: Gateway, logger: Logger): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(1);
      isStopping = true;
      logger.info({ signal }, 'stopping');
      gateway.stop().then(resolve, reject);
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

function banner(url: string, configuration: Configuration, { begun, demo }: FirstRun): string {
  const begins = begun === null ? '' : `a new ledger was begun: ${begun}\n`;
  const where = `model gateway ready at ${url}\ndata: ${configuration.data}\n${begins}`;
  if (demo === null) return `${where}\n`;
  return `${where}
A demo account, ${demo.accountId}, is open with ${formatUsd(configuration.trialUsd)} USD of trial credits for 30 days.
Its key is shown this once:

  ${demo.key}

Try it:

  curl -N ${url}/v1/messages -H 'x-api-key: ${demo.key}' -H 'content-type: application/json' \\
    -d '{"model":"svc-mock","max_tokens":256,"stream":true,"messages":[{"role":"user","content":"hello"}]}'

Or with an SDK (npm install @anthropic-ai/sdk):

  import Anthropic from '@anthropic-ai/sdk';
  const client = new Anthropic({ baseURL: '${url}', apiKey: '${demo.key}' });
  const message = await client.messages.create({
    model: 'opal-medium', max_tokens: 256, messages: [{ role: 'user', content: 'hello' }],
  });

svc-mock is free; the other models of the example catalog answer from the same mock and are billed like real ones:

  npm run gateway -- account show ${demo.accountId}
  npm run gateway -- ledger events ${demo.accountId}

A real upstream: put its address and the name of its key's environment variable under \`providers\` of a configuration
file, name it under \`upstreams\` of a catalog file, and start with --config (README, "A real upstream").

`;
}
