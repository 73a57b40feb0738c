import type { Configuration } from '../contracts/configuration.ts';
import type { EventLog } from '../contracts/event-log.ts';
import { LogViewFeed } from './log-view-feed.ts';
import type { ViewFeed } from './view-feed.ts';

/**
 * The feed that `projections.source` names. Nothing is opened before the projections are started.
 * @param clientId what the brokers know this process by
 * @param isWhole what the log is read after, where it feeds the views
 */
export async function viewFeedOf(
  { projections, kafka }: Pick<Configuration, 'projections' | 'kafka'>,
  log: EventLog,
  clientId: string,
  isWhole?: Promise<unknown>,
): Promise<ViewFeed> {
  if (projections.source === 'log') return new LogViewFeed(log, isWhole);
  if (kafka === null) throw new Error('projections.source is kafka, and the configuration has no section kafka');
  // Loaded here, because most gateways read no topic.
  const [{ openFeed }, { TopicViewFeed }] = await Promise.all([
    import('../ledger/feed/open-feed.ts'),
    import('./topic-view-feed.ts'),
  ]);
  return new TopicViewFeed({
    topic: kafka.topic,
    log,
    open: (options) => openFeed({ kafka, clientId, ...options }),
  });
}
