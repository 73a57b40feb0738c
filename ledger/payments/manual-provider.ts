import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { PaymentProvider } from './payment-provider.ts';

/** Of what is paid elsewhere (a transfer, an invoice) nobody knows here until an operator says it. */
export const MANUAL_PROVIDER: PaymentProvider = {
  name: MANUAL,
  ask: async () => ({ type: 'waits', url: null }),
};
