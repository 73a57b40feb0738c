import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';
import type { Environment } from '../../../contracts/environment-variable.ts';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { LedgerId } from '../../../contracts/ids.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { MANUAL_PROVIDER } from '../../../ledger/payments/manual-provider.ts';
import type { PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { readStripeSecrets } from '../configuration/read-payments.ts';

interface ProviderParts {
  readonly log: ReadableLog;
  readonly clock: () => number;
  /** Where the secrets are that the configuration was read without. */
  readonly environment?: Environment;
}

/** Who takes the money, as the configuration has it. What speaks with Stripe is loaded only where it is. @throws ConfigurationError */
export async function paymentProviderOf(
  { payments, file }: Pick<Configuration, 'payments' | 'file'>,
  { log, clock, environment = {} }: ProviderParts,
): Promise<PaymentProvider> {
  if (payments.provider === 'manual') return MANUAL_PROVIDER;
  const { stripe: configuration } = payments;
  const faults: string[] = [];
  const secrets = configuration.secrets ?? readStripeSecrets(configuration, environment, faults);
  if (faults.length > 0) throw new ConfigurationError(file ?? 'configuration', faults);
  const { StripeProvider } = await import('../../../ledger/payments/stripe-provider.ts');
  return new StripeProvider({ configuration, secrets, ledgerId: () => ledgerIdOf(log), clock });
}

/** @throws Error where it has none; EventLogError */
async function ledgerIdOf(log: ReadableLog): Promise<LedgerId> {
  const { identity } = await readLedgerState(log);
  if (identity === null) throw new Error('the ledger has no id yet: the first start of a gateway gives it one');
  return identity.ledgerId;
}
