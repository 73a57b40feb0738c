import { MANUAL } from '../../contracts/payments-configuration.ts';

/** The command that saves what may be charged: a provider's page asks its owner, and what an operator takes is to be described. */
export const saveMethodCommand = (accountId: string, provider: string): readonly string[] => [
  ...['gateway', 'payment', 'save-method', accountId],
  ...(provider === MANUAL ? ['--id', '"…"', '--brand', '"…"', '--last4', '"…"'] : []),
];
