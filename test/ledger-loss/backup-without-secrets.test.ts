import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sealKeyFile } from '../../ledger/seals/seal-keys.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { runHereWith } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Whatever a gateway is configured with that nobody else may have, each in a form of its own. */
const SECRETS = {
  PROVIDER_KEY: 'provider-key-of-a-variable',
  STRIPE_KEY: 'sk_test_of_a_variable',
  WEBHOOK: 'whsec_of_a_variable',
  KAFKA_PASSWORD: 'sasl-password-of-a-variable',
  EVENT_LOG: 'esdb://ops:password-of-the-store@127.0.0.1:1?tls=false',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=collector-token',
};
/** In files of the data folder itself, where none should be. */
const IN_FILES = {
  'provider-key': 'provider-key-of-a-file',
  'stripe-key': 'rk_test_of_a_file',
  'stripe-webhook': 'whsec_of_a_file',
  'kafka-token': 'token-of-a-file',
};

/** What stands in files and words of these secrets, by the secret. */
const foundIn = (texts: readonly string[], secrets: readonly string[]): string[] =>
  secrets.filter((secret) => texts.some((text) => text.includes(secret)));

const textsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));

it('neither a backup nor what is said of it has a secret of the configuration, the environment, the data folder or a caller', async () => {
  const { gateway } = await startOnUpstream(onTestFinished);
  const { data } = gateway;
  const rotated = await gateway.issueKey({ name: 'other' });
  for (const key of [gateway.key, rotated.key]) await (await postMessage({ ...gateway, key })).rest();
  for (const [name, secret] of Object.entries(IN_FILES)) writeFileSync(join(data, name), secret);
  const provider = { protocol: 'messages', baseUrl: 'http://127.0.0.1:1' };
  const settings = JSON.parse(readFileSync(join(data, 'gateway.json'), 'utf8'));
  const configured = {
    ...settings,
    providers: {
      ...settings.providers,
      one: { ...provider, apiKeyEnv: 'PROVIDER_KEY' },
      other: { ...provider, apiKeyFile: 'provider-key' },
    },
    metrics: { serve: { port: 0 } },
    payments: {
      provider: 'stripe',
      stripe: {
        secretKeyFile: 'stripe-key',
        webhookSecrets: [{ file: 'stripe-webhook' }, { env: 'WEBHOOK' }],
        successUrl: 'https://app.example/paid',
      },
    },
    kafka: {
      brokers: ['127.0.0.1:1'],
      sasl: { mechanism: 'scram-sha-512', username: 'gateway', passwordEnv: 'KAFKA_PASSWORD' },
    },
    tracing: { otlpUrl: 'http://127.0.0.1:1/v1/traces' },
  };
  const config = join(data, 'with-secrets.json');
  writeFileSync(config, JSON.stringify(configured));
  // One that holds a secret itself.
  writeFileSync(
    join(data, 'of-the-store.json'),
    JSON.stringify({ eventLog: { kind: 'eventstoredb', connectionString: SECRETS.EVENT_LOG } }),
  );
  const run = (...args: readonly string[]) =>
    runHereWith({ environment: { ...process.env, ...SECRETS } }, '--config', config, ...args);
  const to = join(temporaryFolder(), 'backup');
  const said = await run('ledger', 'backup', to);
  expect(said).toMatchObject({ exitCode: 0, stderr: '' });

  const sealKey = readFileSync(sealKeyFile(data), 'utf8');
  const secrets = [
    ...Object.values(SECRETS),
    ...Object.values(IN_FILES),
    ...['password-of-the-store', 'collector-token', 'upstream-secret-key', gateway.key, rotated.key],
    ...sealKey.split('\n').filter((line) => line.length > 20),
  ];
  expect(foundIn(textsIn(to), secrets)).toEqual([]);
  expect(foundIn([said.stdout, said.stderr], secrets)).toEqual([]);
  // What is looked for is there, where it was left.
  expect(foundIn([...textsIn(data), ...Object.values(SECRETS)], secrets)).toEqual(
    secrets.filter((secret) => ![gateway.key, rotated.key, 'upstream-secret-key'].includes(secret)),
  );
  const { leftOut, keys } = JSON.parse(readFileSync(join(to, 'manifest.json'), 'utf8'));
  const names = (leftOut as { name: string }[]).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(IN_FILES), 'of-the-store.json', 'seal-key']));
  expect((keys as { use: string }[]).map(({ use }) => use)).toEqual([
    ...['providers.test', 'providers.one', 'providers.other', 'seals', 'kafka'],
    ...['payments.stripe', 'payments.stripe.webhookSecrets', 'payments.stripe.webhookSecrets'],
  ]);

  const restored = join(temporaryFolder(), 'data');
  const back = await run('--data', restored, 'ledger', 'restore', to);
  expect(back.exitCode).toBe(0);
  expect(foundIn([...textsIn(restored), back.stdout, back.stderr], secrets)).toEqual([]);
});
