import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { PaymentProvider } from './payment-provider.ts';

/** Of what is paid elsewhere (a transfer, an invoice) nobody knows here until an operator says it. */
export const MANUAL_PROVIDER: PaymentProvider = {
  name: MANUAL,
  ask: async () => ({ type: 'waits', url: null }),
  // What is paid all the same is confirmed by an operator, and is credit as bought.
  withdraw: async () => ({ type: 'abandoned', reason: 'it is not wanted any more' }),
};
