import { resolve } from 'node:path';
import type { z } from 'zod';
import type { Environment } from '../../../contracts/environment-variable.ts';
import type {
  PaymentsConfiguration,
  paymentsSection,
  SecretPlace,
  StripeConfiguration,
  StripeSecrets,
} from '../../../contracts/payments-configuration.ts';
import { fromEnvironment, fromSecretFile } from './secret-text.ts';

interface PaymentsSource {
  /** What relative paths begin in. */
  readonly base: string;
  readonly environment: Environment;
  /** False for commands, which read secrets where they need them. */
  readonly callsProviders: boolean;
}

const FIELD = 'payments.stripe';
const WEBHOOKS = `${FIELD}.webhookSecrets`;

/** The section `payments`, with Stripe's secrets where it is Stripe that is asked. @param faults gets what is amiss */
export function readPayments(
  { provider, stripe: parsed }: z.infer<typeof paymentsSection>,
  { base, environment, callsProviders }: PaymentsSource,
  faults: string[],
): PaymentsConfiguration {
  if (provider === 'manual') return { provider };
  if (parsed === undefined) {
    faults.push(`${FIELD}: is missing, and payments.provider is stripe`);
    return { provider: 'manual' };
  }
  const { secretKeyEnv, secretKeyFile, webhookSecrets, ...stripe } = parsed;
  const place = ({ env, file }: SecretPlace): SecretPlace =>
    file === undefined ? { env } : { env, file: resolve(base, file) };
  const places = {
    secretKey: place({ env: secretKeyEnv, file: secretKeyFile }),
    webhookSecrets: webhookSecrets.map(place),
  };
  const amiss = [
    ...(isOne(places.secretKey) ? [] : [`${FIELD}: needs either secretKeyEnv or secretKeyFile`]),
    ...places.webhookSecrets.flatMap((one, index) =>
      isOne(one) ? [] : [`${WEBHOOKS}.${index}: needs either env or file`],
    ),
  ];
  faults.push(...amiss);
  const isRead = callsProviders && amiss.length === 0;
  return {
    provider,
    stripe: { ...stripe, places, secrets: isRead ? readStripeSecrets({ places }, environment, faults) : null },
  };
}

/** Stripe's secrets, as their variables or files have them now. @param faults gets what is amiss; no secret stands in it */
export function readStripeSecrets(
  { places }: Pick<StripeConfiguration, 'places'>,
  environment: Environment,
  faults: string[],
): StripeSecrets {
  const read = ({ env, file }: SecretPlace, field: (kind: 'env' | 'file') => string, form: Form): string => {
    const kind = file === undefined ? 'env' : 'file';
    const value =
      file === undefined
        ? fromEnvironment(env ?? '', field(kind), environment, faults)
        : fromSecretFile(file, field(kind), faults);
    if (value !== '' && !form.pattern.test(value)) faults.push(`${field(kind)}: ${file ?? env} holds no ${form.name}`);
    return value;
  };
  return {
    secretKey: read(
      places.secretKey,
      (kind) => (kind === 'env' ? `${FIELD}.secretKeyEnv` : `${FIELD}.secretKeyFile`),
      SECRET_KEY,
    ),
    webhookSecrets: places.webhookSecrets.map((one, index) =>
      read(one, (kind) => `${WEBHOOKS}.${index}.${kind}`, WEBHOOK_SECRET),
    ),
  };
}

interface Form {
  readonly pattern: RegExp;
  readonly name: string;
}

/** Not the publishable one, which stands beside it on Stripe's page. */
const SECRET_KEY: Form = {
  pattern: /^[sr]k_(test|live)_./,
  name: 'secret key of Stripe, which begins with sk_test_, sk_live_, rk_test_ or rk_live_',
};
const WEBHOOK_SECRET: Form = {
  pattern: /^whsec_./,
  name: 'signing secret of a webhook endpoint of Stripe, which begins with whsec_',
};

const isOne = ({ env, file }: SecretPlace): boolean => (env === undefined) !== (file === undefined);
