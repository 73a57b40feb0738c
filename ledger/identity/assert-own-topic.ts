import type { EventLog } from '../../contracts/event-log.ts';
import { isSameLedger, type LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { TopicTail } from '../feed/topic-tail.ts';
import { type CompareOptions, compareLedger } from './compare-ledger.ts';
import type { LedgerKnowledge } from './known-ledger.ts';
import { LedgerLostError, olderGeneration } from './ledger-lost.ts';
import { readLedgerState } from './ledger-state.ts';
import { knowledgeOfTopic, topicSource } from './topic-knowledge.ts';

/** The ledger as an operator knows it, and how often something missing is looked for in it. */
export type LedgerPlace = Pick<CompareOptions, 'where' | 'looks'>;

interface TopicOfLedger extends LedgerPlace {
  readonly topic: string;
}

/**
 * Whether what a topic has is of this ledger, in its generation, and all of it there: nothing is written to another
 * one's, or read from it, and a ledger that is behind its topic was put back to an earlier state. Messages from before
 * they named their ledger are its own where stream, revision and id are.
 *
 * @throws LedgerLostError; EventLogError when the log does not answer
 */
export async function assertOwnTopic(log: EventLog, tail: TopicTail, of: TopicOfLedger): Promise<void> {
  if (tail.events.length === 0 && tail.strangers > 0) throw notTheFeed(of.topic);
  await assertNoOtherLedger(log, knowledgeOfTopic(of.topic, tail.events), of);
}

/** The same for some of what a topic has. @throws as `assertOwnTopic` */
export async function assertNoOtherLedger(
  log: EventLog,
  known: readonly LedgerKnowledge[],
  of: TopicOfLedger,
): Promise<void> {
  const { identity: is } = await readLedgerState(log);
  for (const { identity } of known) {
    // What a later generation has that this ledger lacks is told event by event.
    if (is === null || identity === null || identity.generation > is.generation) continue;
    if (!isSameLedger(identity, is)) throw otherLedgerOf(identity, is, of);
  }
  const comparison = await compareLedger(known, { log, ...placeOf(of) });
  switch (comparison.type) {
    case 'whole':
      return;
    case 'lost':
      throw new LedgerLostError(`${comparison.error.message}\nThen name a new topic in kafka.topic: ${WHY_NEW}.`);
    case 'other ledger':
    case 'elsewhere':
      throw comparison.error;
    case 'later generation':
      throw ofEarlierGeneration(of, comparison.identity);
  }
}

const placeOf = ({ where, looks }: LedgerPlace): LedgerPlace => ({ where, ...(looks === undefined ? {} : { looks }) });

const WHY_NEW = 'a new generation of the ledger asks for one';

/** Why messages that say whose they are cannot be this ledger's. */
export function otherLedgerOf(of: LedgerIdentity, is: LedgerIdentity, place: TopicOfLedger): LedgerLostError {
  const { topic, where } = place;
  if (of.ledgerId !== is.ledgerId)
    return new LedgerLostError(
      `the topic ${topic} has messages of the ledger ${of.ledgerId}, and the ledger (${where}) is ${is.ledgerId}: ` +
        'kafka.topic must name a topic of this ledger, or a new one',
      'the topic is another ledger’s',
    );
  if (of.generation < is.generation) return ofEarlierGeneration(place, is);
  return olderGeneration(where, topicSource(topic), of, is);
}

const ofEarlierGeneration = ({ topic, where }: TopicOfLedger, { generation }: LedgerIdentity): LedgerLostError =>
  new LedgerLostError(
    `the topic ${topic} has messages of a generation before the ledger’s (${where}), which is at ${generation} since a ` +
      `loss was accepted, and may have what is lost: name a new topic in kafka.topic, ${WHY_NEW} (the relay fills it)`,
    'the topic is of an earlier generation of the ledger',
  );

const notTheFeed = (topic: string): LedgerLostError =>
  new LedgerLostError(
    `the topic ${topic} has messages, and none of its last is of the feed: it is another application’s, and kafka.topic ` +
      'must name another',
    'the topic is another application’s',
  );
