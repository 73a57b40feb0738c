import { describe, expect, it } from 'vitest';
import { passesSoon, pauseMsMaxAfter, reasonOf } from '../../../ledger/feed/kafka-fault.ts';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';

/** As the driver makes them: what was tried around what has happened, and a type where a broker has answered. */
const fault = (message: string, other: object = {}, cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), other);
const tried = (cause: Error): Error => fault(cause.message, { name: 'KafkaJSNonRetriableError' }, cause);

describe('the reason of a fault', () => {
  it('is what was wrong with the topic that could not be made', () => {
    const inner = fault('Replication-factor is invalid', { type: 'INVALID_REPLICATION_FACTOR' });
    const outer = tried(fault('Topic creation errors', { errors: [inner] }));
    expect(reasonOf(outer)).toBe(
      'Replication-factor is invalid; kafka.replicationFactor is more than there are brokers',
    );
  });

  it.each([
    ['Group authorization failed', { type: 'GROUP_AUTHORIZATION_FAILED' }, 'Read on its group'],
    ['Topic authorization failed', { type: 'TOPIC_AUTHORIZATION_FAILED' }, 'the relay Write'],
    ['Cluster authorization failed', { type: 'CLUSTER_AUTHORIZATION_FAILED' }, 'the right Create'],
    ['SASL PLAIN authentication failed: Invalid username or password', {}, 'the user or the password is wrong'],
    ['The broker does not support it', { type: 'UNSUPPORTED_SASL_MECHANISM' }, 'kafka.sasl.mechanism'],
    ['Request is not valid', { type: 'ILLEGAL_SASL_STATE' }, 'takes no credentials'],
    ['a:1 self-signed certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'kafka.ssl.caFile'],
    ['a:1 closes connections without an answer (TLS alert bad certificate)', {}, 'kafka.ssl.certificateFile'],
    [
      'Connection error: 40:error:0A:SSL routines:ssl3_read_bytes:ssl/tls alert unknown ca:.',
      {},
      'kafka.ssl.certificateFile',
    ],
    ['SASL OAUTHBEARER failed: {"status":"invalid_token"}', {}, 'does not take the token'],
    ['Closed connection', {}, 'may expect credentials'],
  ])('says of "%s" what to look at', (message, other, hint) => {
    const reason = reasonOf(tried(fault(message, other)));
    expect(reason.startsWith(`${message}; `)).toBe(true);
    expect(reason).toContain(hint);
  });

  it('is what the seeds do, without what the driver puts before it', () => {
    expect(reasonOf(fault('Failed to connect: "config.brokers" threw: a:1 is silent; b:2 is dead'))).toBe(
      'a:1 is silent; b:2 is dead',
    );
  });

  it('is what was thrown where that is no error', () => {
    expect(reasonOf('no')).toBe('no');
  });
});

describe('the wait after a fault', () => {
  it.each([
    ['a leader that another broker has become', { type: 'NOT_LEADER_FOR_PARTITION' }],
    ['replicas that are missing', { type: 'NOT_ENOUGH_REPLICAS' }],
    ['a leader that is dead', { code: 'ECONNREFUSED' }],
  ])('is short after %s', (_what, other) => {
    expect(pauseMsMaxAfter(tried(fault('no', other)))).toBe(FEED_LIMITS.backOffChoosingMs);
  });

  it.each([
    ['wrong credentials', { type: 'SASL_AUTHENTICATION_FAILED' }],
    ['seeds of which none answers', { name: 'KafkaJSConnectionError' }],
  ])('grows to its bound after %s', (_what, other) => {
    expect(pauseMsMaxAfter(tried(fault('no', other)))).toBe(FEED_LIMITS.backOff.maxMs);
  });

  it('passes soon for what a cluster does by itself alone', () => {
    expect(passesSoon(tried(fault('no', { type: 'LEADER_NOT_AVAILABLE' })))).toBe(true);
    expect(passesSoon(tried(fault('no', { type: 'GROUP_AUTHORIZATION_FAILED' })))).toBe(false);
    expect(passesSoon(new Error('no'))).toBe(false);
  });
});
