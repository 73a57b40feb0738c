import { LIMITS } from '../../../contracts/limits.ts';
import { forgetProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { within } from '../../../ledger/within.ts';
import type { MetricsServer } from '../metrics-server.ts';
import type { GatewayProcess } from './assemble-gateway.ts';

/** No new requests → accepted answered, streams drained, what is ended taken by its clients, then cut → settlements flushed → all closed; bounded. */
export async function stopInOrder(
  gateway: GatewayProcess,
  metricsServer: MetricsServer | null,
  drainMs: number,
): Promise<void> {
  const { options, availability, server, inFlight, untaken } = gateway;
  const { configuration, logger } = options;
  availability.stop();
  gateway.recovered.close();
  gateway.reloadWaits.close();
  const closed = server.close();
  server.server.closeIdleConnections();
  // What was accepted is refused once it has been read, unless it has come so far as to be forwarded; a body that does not come
  // is not waited for.
  const drained = inFlight
    .whenAnswered(LIMITS.shutdownBodyStillMs)
    .then(() => inFlight.whenEmpty())
    .then(() => untaken.whenTaken());
  await within(drainMs, drained);
  if (inFlight.count > 0) logger.warn({ requests: inFlight.count }, 'requests are cut by the shutdown');
  if (untaken.count > 0)
    logger.warn({ answers: untaken.count }, 'answers that their clients have not taken yet are cut by the shutdown');
  inFlight.cutAll();
  await flush(gateway);
  await within(LIMITS.shutdownFlushMs, gateway.fleet?.upkeep.close() ?? Promise.resolve());
  gateway.settlement.close();
  gateway.probe.close();
  await gateway.claim?.close();
  server.server.closeAllConnections();
  await closed;
  await metricsServer?.close();
  await gateway.upstreams.close();
  await gateway.threads.close();
  gateway.loopDelay.close();
  await gateway.sweeper.close();
  await within(LIMITS.shutdownFlushMs, gateway.closer.close());
  await Promise.all([
    gateway.payments.close(),
    within(LIMITS.shutdownFlushMs, gateway.webhooks?.close() ?? Promise.resolve()),
  ]);
  await within(LIMITS.shutdownFlushMs, gateway.sealer?.close() ?? Promise.resolve());
  await gateway.formsAdoption.close();
  await within(LIMITS.shutdownFlushMs, gateway.renewal?.close() ?? Promise.resolve());
  await gateway.desk.close();
  await gateway.projections.close();
  await gateway.ledgerWatch.close();
  // While the folder is locked with the journal: afterwards the note may be the next gateway's.
  forgetProviders(configuration.data);
  try {
    await gateway.journal.close();
  } finally {
    await gateway.clock.close();
  }
  await gateway.claim?.ended({ isLogAway: gateway.breaker.isAway });
}

async function flush({ options, breaker, settlement, ledgerWatch }: GatewayProcess): Promise<void> {
  // Without the log there is nothing to wait for, nor behind the end of it.
  if (!breaker.isAway && !ledgerWatch.isElsewhere) await within(LIMITS.shutdownFlushMs, settlement.idle());
  if (settlement.pending > 0)
    options.logger.error(
      { requests: settlement.pending },
      'not settled at the end; the journal keeps them for the next start',
    );
}
