import type { AttemptId } from '../../contracts/ids.ts';
import type { AccountCommand } from '../account/commands.ts';
import type { PaymentOutcome } from './payment-provider.ts';

interface Recorded {
  readonly attemptId: AttemptId;
  readonly provider: string;
  readonly nowMs: number;
}

/** The command that writes an outcome down; null while there is none. */
export function commandOfOutcome(
  outcome: PaymentOutcome,
  { attemptId, provider, nowMs }: Recorded,
): AccountCommand | null {
  switch (outcome.type) {
    case 'paid': {
      const { paymentId, amount, paidAtMs } = outcome;
      return { type: 'RecordPayment', attemptId, provider, paymentId, amount, paidAtMs, nowMs };
    }
    case 'failed': {
      const { type: _type, ...declined } = outcome;
      return { type: 'RecordPaymentFailure', attemptId, ...declined, nowMs };
    }
    case 'action required':
      return { type: 'RequirePaymentAction', attemptId, paymentId: outcome.paymentId, nowMs };
    case 'abandoned':
    case 'refused': {
      const { type: _type, ...why } = outcome;
      return { type: 'AbandonPayment', attemptId, ...why, nowMs };
    }
    case 'waits':
      return null;
    default:
      outcome satisfies never;
      // Whatever it says: it would be carried out.
      throw new Error('what a provider has said is none of its outcomes');
  }
}
