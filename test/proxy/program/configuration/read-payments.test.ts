import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { readStripeSecrets } from '../../../../proxy/program/configuration/read-payments.ts';
import { faultsOf } from '../../../fixtures/faults-of.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const folder = temporaryFolder();
const KEY = 'sk_test_1234567890';
const ENVIRONMENT = { STRIPE_KEY: KEY, OLD: 'whsec_old', PUBLISHABLE: 'pk_test_1', BLANK: `${KEY} ` };
const read = (payments: unknown, { callsProviders = true, metrics = {} } = {}) => {
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ payments, metrics }));
  return readConfiguration({ file, environment: ENVIRONMENT, callsProviders });
};
const STRIPE = { secretKeyEnv: 'STRIPE_KEY', successUrl: 'https://app.example/paid' };
const stripe = (more: object) => ({ provider: 'stripe', stripe: { ...STRIPE, ...more } });
const SERVED = { metrics: { serve: { port: 0 } } };

it('is manual by default, and needs nothing of Stripe then', () => {
  expect(read(undefined).payments).toEqual({ provider: 'manual' });
  expect(read({ stripe: { ...STRIPE, secretKeyEnv: 'NOT_THERE' } }).payments).toEqual({ provider: 'manual' });
});

it('reads secrets from variables and files, several for webhooks, and of commands none', () => {
  writeFileSync(join(folder, 'new-secret'), 'whsec_new\n');
  const asked = stripe({ webhookSecrets: [{ env: 'OLD' }, { file: 'new-secret' }] });
  const { payments } = read(asked, SERVED);
  if (payments.provider !== 'stripe') throw new Error(payments.provider);
  expect(payments.stripe).toMatchObject({
    secrets: { secretKey: KEY, webhookSecrets: ['whsec_old', 'whsec_new'] },
    ...{ webhookToleranceSeconds: 300, successUrl: 'https://app.example/paid', baseUrl: 'https://api.stripe.com' },
  });
  const ofCommand = read(asked, { ...SERVED, callsProviders: false });
  expect(ofCommand.payments).toMatchObject({ provider: 'stripe', stripe: { secrets: null } });
  expect(readStripeSecrets(payments.stripe, ENVIRONMENT, [])).toEqual(payments.stripe.secrets);
});

const AMISS: readonly (readonly [payments: object, faults: readonly (string | RegExp)[]])[] = [
  [{ provider: 'stripe' }, ['payments.stripe: is missing, and payments.provider is stripe']],
  [{ provider: 'paypal' }, [/^payments\.provider: /]],
  [stripe({ successUrl: undefined }), [/^payments\.stripe\.successUrl: /]],
  [stripe({ secretKeyEnv: undefined }), ['payments.stripe: needs either secretKeyEnv or secretKeyFile']],
  [stripe({ secretKeyFile: 'x' }), ['payments.stripe: needs either secretKeyEnv or secretKeyFile']],
  [stripe({ secretKeyEnv: 'GONE' }), ['payments.stripe.secretKeyEnv: the environment variable GONE is not set']],
  [
    stripe({ secretKeyEnv: 'PUBLISHABLE' }),
    [/^payments\.stripe\.secretKeyEnv: PUBLISHABLE holds no secret key of Stripe/],
  ],
  [stripe({ secretKeyEnv: 'BLANK' }), [/^payments\.stripe\.secretKeyEnv: .* holds a blank or a control character/]],
  [stripe({ webhookSecrets: [{}] }), ['payments.stripe.webhookSecrets.0: needs either env or file']],
  [
    stripe({ webhookSecrets: [{ env: 'STRIPE_KEY' }] }),
    [/^payments\.stripe\.webhookSecrets\.0\.env: STRIPE_KEY holds no signing secret/],
  ],
  [stripe({ webhookSecrets: [{ file: 'gone' }] }), [/^payments\.stripe\.webhookSecrets\.0\.file: .*gone/]],
  [stripe({ webhookToleranceSeconds: 0 }), [/^payments\.stripe\.webhookToleranceSeconds: /]],
  ...['http://api.stripe.com', 'https://api.stripe.com/v1', 'http://127.0.0.1.example', 'file:///x'].map(
    (baseUrl) => [stripe({ baseUrl }), [/^payments\.stripe\.baseUrl: expected an origin/]] as const,
  ),
];
it.each(AMISS)('refuses %j by the name of its field, and tells no secret', (payments, faults) => {
  const found = faultsOf(() => read(payments, SERVED));
  expect(found).toEqual(faults.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
  for (const secret of Object.values(ENVIRONMENT)) expect(found.join()).not.toContain(secret.trim());
});

it('refuses webhooks where nothing would hear them', () => {
  const asked = stripe({ webhookSecrets: [{ env: 'OLD' }] });
  expect(faultsOf(() => read(asked))).toEqual([
    'payments.stripe.webhookSecrets: webhooks are heard at metrics.serve, which is missing',
  ]);
  expect(faultsOf(() => read(asked, SERVED))).toEqual([]);
});

it.each(['http://127.0.0.1:12111', 'http://localhost:1', 'http://[::1]:12111', 'https://stripe.example'])(
  'takes %s for Stripe',
  (baseUrl) => {
    expect(read(stripe({ baseUrl })).payments).toMatchObject({ stripe: { baseUrl } });
  },
);
