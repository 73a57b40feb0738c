import type { Configuration } from '../contracts/configuration.ts';
import type { EventLog } from '../contracts/event-log.ts';
import type { LedgerIdentity } from '../contracts/ledger-identity.ts';
import { ledgerPlace, looksFor } from '../ledger/identity/ledger-place.ts';
import { LogViewFeed } from './log-view-feed.ts';
import type { ViewFeed } from './view-feed.ts';

/**
 * The feed that `projections.source` names. Nothing is opened before the projections are started.
 * @param clientId what the brokers know this process by
 * @param ledger resolves once it is known to have everything that is known of it: nothing is read before
 */
export async function viewFeedOf(
  configuration: Pick<Configuration, 'projections' | 'kafka' | 'eventLog' | 'data'>,
  log: EventLog,
  clientId: string,
  ledger: Promise<LedgerIdentity>,
): Promise<ViewFeed> {
  const { projections, kafka } = configuration;
  if (projections.source === 'log') return new LogViewFeed(log, ledger);
  if (kafka === null) throw new Error('projections.source is kafka, and the configuration has no section kafka');
  // Loaded here, because most gateways read no topic.
  const [{ openFeed }, { TopicViewFeed }] = await Promise.all([
    import('../ledger/feed/open-feed.ts'),
    import('./topic-view-feed.ts'),
  ]);
  return new TopicViewFeed({
    topic: kafka.topic,
    log,
    ledger,
    place: { where: ledgerPlace(configuration), looks: looksFor(configuration) },
    open: (options) => openFeed({ kafka, clientId, ...options }),
  });
}
