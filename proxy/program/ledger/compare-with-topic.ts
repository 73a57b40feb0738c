import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { ledgerPlace, looksFor } from '../../../ledger/event-log/ledger-place.ts';
import { compareLedger, type LedgerComparison } from '../../../ledger/identity/compare-ledger.ts';
import type { LedgerKnowledge } from '../../../ledger/identity/known-ledger.ts';
import { knowledgeOfTopic, topicSource } from '../../../ledger/identity/topic-knowledge.ts';
import type { FolderKnowledge } from '../../../projections/read-folder.ts';
import { assertKafkaRead } from '../configuration/assert-kafka-read.ts';

interface FolderAndTopic {
  readonly comparison: LedgerComparison;
  /** The newest identity that the folder or the topic knows. */
  readonly known: LedgerIdentity | null;
}

/**
 * How a ledger compares with what its data folder knows of it and, where one is configured, with what its topic knows:
 * that may be all that is left. A topic that does not tell, or is none of this ledger's generation, adds nothing.
 *
 * @param onSilent told why the topic does not tell @throws EventLogError; ConfigurationError
 */
export async function compareWithTopic(
  log: EventLog,
  { folder, configuration }: { readonly folder: FolderKnowledge; readonly configuration: Configuration },
  onSilent: (reason: string) => void,
): Promise<FolderAndTopic> {
  const options = { log, where: ledgerPlace(configuration), looks: looksFor(configuration) };
  const comparison = await compareLedger(folder.all, options);
  const alone = { comparison, known: folder.identity };
  if (comparison.type !== 'whole' && comparison.type !== 'lost') return alone;
  if (configuration.kafka === null) return alone;
  assertKafkaRead(configuration);
  const is = comparison.state.identity ?? folder.identity;
  const ofTopic = (await knownByTopic(configuration.kafka, onSilent)).filter(({ identity }) => isOf(identity, is));
  if (ofTopic.length === 0) return alone;
  const identities = [folder.identity, ...ofTopic.map(({ identity }) => identity)].filter((one) => one !== null);
  const known = identities.sort((one, other) => other.generation - one.generation)[0] ?? null;
  return { comparison: await compareLedger([...folder.all, ...ofTopic], options), known };
}

/** Messages from before they said whose they are can tell only of a first generation. */
function isOf(identity: LedgerIdentity | null, is: LedgerIdentity | null): boolean {
  if (identity === null) return (is?.generation ?? 1) === 1;
  return is === null || (identity.ledgerId === is.ledgerId && identity.generation >= is.generation);
}

async function knownByTopic(
  kafka: KafkaConfiguration,
  onSilent: (reason: string) => void,
): Promise<readonly LedgerKnowledge[]> {
  // Loaded here, because without a topic nothing of it is needed.
  const [{ kafkaClient }, { reasonOf }, { lookAtTopic }] = await Promise.all([
    import('../../../ledger/feed/kafka-client.ts'),
    import('../../../ledger/feed/kafka-fault.ts'),
    import('../../../ledger/feed/topic-look.ts'),
  ]);
  const client = kafkaClient({ kafka, clientId: 'accept-loss' });
  try {
    const { tail } = await lookAtTopic(client, kafka.topic, new AbortController().signal);
    return knowledgeOfTopic(kafka.topic, tail.events);
  } catch (error) {
    onSilent(`${topicSource(kafka.topic)} does not tell what it knows of the ledger: ${reasonOf(error)}`);
    return [];
  } finally {
    client.cut();
  }
}
