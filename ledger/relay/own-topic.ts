import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { assertOwnTopic } from '../identity/assert-own-topic.ts';
import { identifyLedger } from '../identity/identify-ledger.ts';
import { recordingBy } from '../recording-by.ts';
import { untilLogAnswers } from '../until-log-answers.ts';
import type { TopicState } from './publisher.ts';
import type { RelayOptions } from './relay-options.ts';

export type OwnTopicOptions = Pick<RelayOptions, 'log' | 'feed' | 'place' | 'clock' | 'logger' | 'signal'>;

/**
 * Before anything is written: whether the topic is this ledger's, and the ledger has all of it. However long the log is
 * away. @throws LedgerLostError; the signal's reason
 */
export async function assertTopicIsOwn({ tail }: TopicState, options: OwnTopicOptions): Promise<void> {
  const { log, feed: topic, place, signal, logger } = options;
  const onFirst = ({ message }: Error): void =>
    logger.warn({ reason: message }, 'the event log is away; whose the topic is, is asked until it answers');
  await untilLogAnswers(() => assertOwnTopic(log, tail, { topic, ...place }), { signal, onFirst });
}

/** The same, and which ledger's the messages are to be: one from before ledgers had an identity is given one. @throws as `assertTopicIsOwn` */
export async function ledgerOfTopic(state: TopicState, options: OwnTopicOptions): Promise<LedgerIdentity> {
  await assertTopicIsOwn(state, options);
  const { log, clock, signal } = options;
  const nowMs = clock();
  const recording = recordingBy('relay', nowMs);
  return untilLogAnswers(() => identifyLedger(log, nowMs, recording), { signal });
}
