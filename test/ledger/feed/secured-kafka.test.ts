import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';
import { openFeed } from '../../../ledger/feed/open-feed.ts';
import { KafkaPublisher } from '../../../ledger/relay/kafka-publisher.ts';
import { readConfiguration } from '../../../proxy/program/configuration/read-configuration.ts';
import { Authority } from '../../kafka/certificates.ts';
import { eventually } from '../../kafka/eventually.ts';
import { newTopicName } from '../../kafka/new-topic-name.ts';
import { addScramUser, type ScramMechanism } from '../../kafka/scram-user.ts';
import { type SecuredBroker, startSecuredBroker, USER, unsignedToken } from '../../kafka/secured-broker.ts';
import { createTopicOn, TOPIC_PARTITIONS } from '../../kafka/start-broker.ts';
import { planMessage } from '../../kafka/topic-writer.ts';

/** Real listeners, and what they say, are the matter here: a stand-in would say what we believe. */
const started = await startSecuredBroker();
if (started === null) process.stderr.write('tests of TLS and SASL to Kafka are skipped: no npm run kafka\n');

describe.skipIf(started === null)('a broker with TLS, certificates of clients, credentials and tokens', () => {
  const broker = started as SecuredBroker;
  const closing: { close(): Promise<void> }[] = [];
  let writes = 0;

  afterEach(async () => {
    for (const one of closing.splice(0)) await one.close();
  });
  afterAll(() => broker.stop());

  const put = (name: string, text: string): string => {
    const file = join(broker.folder, name);
    writeFileSync(file, text);
    return file;
  };
  const caFile = (): string => put('ca-of-clients.pem', broker.authority.certificate);
  const passphraseFile = (): string => put('passphrase', 'open sesame\n');

  /** What `authority` has certified, in files. */
  function certified(authority: Authority): { certificateFile: string; keyFile: string; keyPassphraseFile: string } {
    const { certificate, privateKey } = authority.certify('relay');
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'open sesame' };
    const key = privateKey.export({ type: 'pkcs8', format: 'pem', ...cipher }).toString();
    return {
      certificateFile: put('client.pem', certificate),
      keyFile: put('client.key', key),
      keyPassphraseFile: passphraseFile(),
    };
  }

  /** As a configuration file says it. */
  function configured(address: string, section: object, topic = newTopicName('secured')): KafkaConfiguration {
    const kafka = { brokers: [address], topic, partitions: TOPIC_PARTITIONS, ...section };
    const file = put('gateway.json', JSON.stringify({ kafka }));
    const environment = { RIGHT: USER.password, WRONG: 'wrong' };
    const configuration = readConfiguration({ file, environment, callsProviders: false });
    if (configuration.kafka === null) throw new TypeError('no section kafka');
    return configuration.kafka;
  }

  function publisherOf(kafka: KafkaConfiguration): KafkaPublisher {
    const publisher = new KafkaPublisher({ kafka, clientId: 'test' });
    closing.push(publisher);
    return publisher;
  }

  const whyNot = async (kafka: KafkaConfiguration): Promise<string> => {
    const error = await publisherOf(kafka)
      .connect(new AbortController().signal)
      .catch((failure: unknown) => failure);
    return error instanceof Error ? error.message : 'it was let in';
  };

  /** Publishes as the relay does, and reads it as views do. */
  async function goesThrough(kafka: KafkaConfiguration): Promise<void> {
    await createTopicOn([broker.open], kafka.topic);
    const publisher = publisherOf(kafka);
    await publisher.connect(new AbortController().signal);
    const message = planMessage('acct_1', writes++);
    await publisher.publish([message]);
    const read: string[] = [];
    const faults: Error[] = [];
    closing.push(
      openFeed({
        kafka,
        clientId: 'test',
        from: 'beginning',
        onBatch: (_partition, events) => {
          read.push(...events.map(({ data }) => data));
        },
        onDropped: (error) => faults.push(error),
      }),
    );
    await eventually('what was published is read', () => read.length > 0 || faults.length > 0);
    expect(faults).toEqual([]);
    expect(read).toEqual([message.value]);
  }

  it('is published to and read over TLS by its authority in a file, and not without', async () => {
    await goesThrough(configured(broker.tls, { ssl: { caFile: caFile() } }));
    expect(await whyNot(configured(broker.tls, { ssl: true }))).toMatch(/kafka\.ssl\.caFile\)/);
    expect(await whyNot(configured(broker.tls, {}))).toContain('expects TLS, and kafka.ssl is false');
  });

  it('lets in who has a certificate of an authority that it believes, and tells others that they need one', async () => {
    const ssl = { caFile: caFile(), ...certified(broker.authority) };
    await goesThrough(configured(broker.mutual, { ssl }));
    const none = await whyNot(configured(broker.mutual, { ssl: { caFile: caFile() } }));
    expect(none).toMatch(/TLS alert (bad certificate|certificate required).*kafka\.ssl\.certificateFile, keyFile/);
    const foreign = { caFile: caFile(), ...certified(new Authority('another')) };
    expect(await whyNot(configured(broker.mutual, { ssl: foreign }))).toMatch(
      /TLS alert .*kafka\.ssl\.certificateFile/,
    );
  });

  it('lets in who has the password', async () => {
    const sasl = (passwordEnv: string, mechanism = 'plain') => ({
      ssl: { caFile: caFile() },
      sasl: { mechanism, username: USER.name, passwordEnv },
    });
    await goesThrough(configured(broker.credentials, sasl('RIGHT')));
    expect(await whyNot(configured(broker.credentials, sasl('WRONG')))).toContain('the user or the password is wrong');
    expect(await whyNot(configured(broker.credentials, sasl('RIGHT', 'scram-sha-256')))).toContain(
      'kafka.sasl.mechanism is not one of the listener',
    );
  });

  it.each(['scram-sha-256', 'scram-sha-512'] as const)('lets in who has the password by %s', async (mechanism) => {
    const user = { name: `relay-${mechanism}`, password: USER.password };
    const sasl = (passwordEnv: string, of: ScramMechanism = mechanism) => ({
      ssl: { caFile: caFile() },
      sasl: { mechanism: of, username: user.name, passwordEnv },
    });
    await addScramUser(broker.open, user, mechanism);
    const kafka = configured(broker.scram, sasl('RIGHT'));
    // What was answered is not known to the listener at once.
    await eventually('the user is known', async () => (await whyNot(kafka)) === 'it was let in');
    await goesThrough(kafka);
    expect(await whyNot(configured(broker.scram, sasl('WRONG')))).toContain('the user or the password is wrong');
    const other = mechanism === 'scram-sha-256' ? 'scram-sha-512' : 'scram-sha-256';
    expect(await whyNot(configured(broker.scram, sasl('RIGHT', other)))).toContain('the user or the password is wrong');
  });

  const withTokens = (where: object) => ({
    ssl: { caFile: caFile() },
    sasl: { mechanism: 'oauthbearer', ...where },
  });

  it('lets in who has a token from a file, and says of a token that is over that it is', async () => {
    const tokenFile = put('token', `${unsignedToken(3_600)}\n`);
    const kafka = configured(broker.credentials, withTokens({ tokenFile }));
    await goesThrough(kafka);
    const over = unsignedToken(-60);
    put('token', over);
    const reason = await whyNot(kafka);
    expect(reason).toMatch(
      /SASL OAUTHBEARER failed: \{"status":"invalid_token"\}; the token was over at .*Z; kafka\.sasl/,
    );
    expect(reason).not.toContain(over);
  });

  it('lets in who has a token from a program, which gives the next before a session is over', async () => {
    const runs = put('runs', '');
    const runsSoFar = (): number => readFileSync(runs, 'utf8').split('\n').filter(Boolean).length;
    // The broker ends a session with its token; the driver authenticates anew when ten seconds of it are left.
    const script = put(
      'give-token',
      `part() { base64 | tr -d '=\n' | tr '+/' '-_'; }
       echo run >> '${runs}'
       now=$(date +%s)
       printf '%s.%s.' "$(printf '{"alg":"none"}' | part)" \
         "$(printf '{"sub":"relay","iat":%d,"exp":%d}' $((now - 1)) $((now + 15)) | part)"`,
    );
    const kafka = configured(broker.credentials, withTokens({ tokenCommand: ['sh', script] }));
    await createTopicOn([broker.open], kafka.topic);
    const publisher = publisherOf(kafka);
    await publisher.connect(new AbortController().signal);
    let published = 0;
    const publish = (): Promise<void> => publisher.publish([planMessage('acct_2', published++)]);
    await publish();
    const before = runsSoFar();
    await eventually('a further token, on the same connection', async () => {
      await publish();
      return runsSoFar() > before;
    });
    await publish();
  });

  it('is not asked where a program gives no token, which is told', async () => {
    const fails = withTokens({ tokenCommand: ['sh', '-c', 'echo "the vault is sealed" >&2; exit 3'] });
    expect(await whyNot(configured(broker.credentials, fails))).toBe(
      'kafka.sasl.tokenCommand: sh has ended with code 3: the vault is sealed',
    );
  });
});
