import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sealKeyFile } from '../../../../ledger/seals/seal-keys.ts';
import { keysByName } from '../../../../proxy/program/configuration/keys-by-name.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const data = temporaryFolder();

function keysOf(settings: object): { use: string; name: string }[] {
  const file = join(temporaryFolder(), 'gateway.json');
  writeFileSync(file, JSON.stringify({ data, ...settings }));
  const environment = { SEAL_KEY: 'a-secret-value', EVENT_LOG: 'esdb://user:a-secret-value@127.0.0.1:1' };
  return keysByName(readConfiguration({ file, environment, callsProviders: false }));
}

const store = { kind: 'eventstoredb', connectionString: 'esdb://user:a-secret-value@127.0.0.1:1' };

it.each([
  ['nothing, where there is nothing secret', {}, []],
  [
    'what each provider is called with',
    { providers: { one: { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'ONE_KEY' } } },
    [{ use: 'providers.one', name: 'ONE_KEY' }],
  ],
  [
    'a file with the key of seals',
    { seals: { keyFile: '/keys/seal.pem' } },
    [{ use: 'seals', name: '/keys/seal.pem' }],
  ],
  ['the connection string of a server', { eventLog: store }, [{ use: 'eventLog', name: 'the connection string' }]],
  [
    'what Kafka asks for',
    { kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger' } },
    [{ use: 'kafka', name: 'what kafka.ssl and kafka.sasl name' }],
  ],
  [
    'what Stripe is asked with, and what its messages are proven by',
    {
      metrics: { serve: { port: 0 } },
      payments: {
        provider: 'stripe',
        stripe: {
          secretKeyEnv: 'STRIPE_KEY',
          webhookSecrets: [{ file: '/keys/webhook' }, { env: 'WEBHOOK' }],
          successUrl: 'https://app.example/paid',
        },
      },
    },
    [
      { use: 'payments.stripe', name: 'STRIPE_KEY' },
      { use: 'payments.stripe.webhookSecrets', name: '/keys/webhook' },
      { use: 'payments.stripe.webhookSecrets', name: 'WEBHOOK' },
    ],
  ],
])('what a backup needs beside it is named: %s', (_what, settings, keys) => {
  expect(keysOf(settings)).toEqual(keys);
});

it('the key of seals is named where the data folder has one', () => {
  writeFileSync(sealKeyFile(data), 'a key');
  expect(keysOf({})).toEqual([{ use: 'seals', name: sealKeyFile(data) }]);
});
