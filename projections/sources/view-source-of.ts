import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { ledgerPlace, looksFor } from '../../ledger/event-log/ledger-place.ts';
import { LogViewSource } from './log-view-source.ts';
import type { ViewSource } from './view-source.ts';

interface ViewSourceParts {
  readonly log: EventLog;
  /** What the brokers know this process by. */
  readonly clientId: string;
  /** Resolves once the ledger is known to have everything that is known of it: nothing is read before. */
  readonly ledger: Promise<LedgerIdentity>;
  readonly logger?: Logger;
}

/** The source that `projections.source` names. Nothing is opened before the projections are started. */
export async function viewSourceOf(
  configuration: Pick<Configuration, 'projections' | 'kafka' | 'eventLog' | 'data'>,
  { log, clientId, ledger, logger }: ViewSourceParts,
): Promise<ViewSource> {
  const { projections, kafka } = configuration;
  if (projections.source === 'log') return new LogViewSource(log, ledger);
  if (kafka === null) throw new Error('projections.source is kafka, and the configuration has no section kafka');
  // Loaded here, because most gateways read no topic.
  const [{ openFeed }, { TopicWarnings }, { TopicViewSource }] = await Promise.all([
    import('../../ledger/feed/open-feed.ts'),
    import('../../ledger/feed/topic-warnings.ts'),
    import('./topic-view-source.ts'),
  ]);
  const warnings = new TopicWarnings(kafka.topic, logger);
  return new TopicViewSource({
    topic: kafka.topic,
    log,
    ledger,
    place: { where: ledgerPlace(configuration), looks: looksFor(configuration) },
    doubtful: kafka.doubtfulTopic,
    onLook: (look) => warnings.warn(look),
    open: (options) => openFeed({ kafka, clientId, ...options }),
  });
}
