import { existsSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import { toldVariable } from '../../../contracts/environment-variable.ts';
import type { SecretPlace, StripeConfiguration } from '../../../contracts/payments-configuration.ts';
import { sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { toldFile } from './secret-text.ts';

/** The secrets that a configuration needs, by their names: what a backup has of them. */
export function keysByName({
  providers,
  seals,
  eventLog,
  kafka,
  payments,
  data,
}: Configuration): { use: string; name: string }[] {
  const of = (use: string, name: string) => [{ use, name }];
  const sealKey = seals.key;
  return [
    ...Object.entries(providers).flatMap(([name, { apiKeyFile, apiKeyEnv }]) =>
      of(`providers.${name}`, placeOf({ file: apiKeyFile, env: apiKeyEnv }, `providers.${name}.apiKeyFile`)),
    ),
    ...(sealKey?.type === 'data folder' && existsSync(sealKeyFile(data)) ? of('seals', sealKeyFile(data)) : []),
    ...(sealKey?.type === 'file' ? of('seals', toldFile(sealKey.file, 'seals.keyFile')) : []),
    ...(sealKey?.type === 'text' ? of('seals', 'the variable that seals.keyEnv names') : []),
    ...(eventLog.kind === 'eventstoredb' ? of('eventLog', 'the connection string') : []),
    ...(kafka === null ? [] : of('kafka', 'what kafka.ssl and kafka.sasl name')),
    ...(payments.provider === 'stripe' ? stripeKeys(payments.stripe) : []),
  ];
}

const stripeKeys = ({ places: { secretKey, webhookSecrets } }: StripeConfiguration) => [
  { use: 'payments.stripe', name: placeOf(secretKey, 'payments.stripe.secretKeyFile') },
  ...webhookSecrets.map((place) => ({
    use: 'payments.stripe.webhookSecrets',
    name: placeOf(place, 'payments.stripe.webhookSecrets'),
  })),
];

/** @param setting that names the file */
const placeOf = ({ file, env }: SecretPlace, setting: string): string =>
  file === undefined ? toldVariable(env ?? '') : toldFile(file, setting);
