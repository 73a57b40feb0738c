import { expect, it } from 'vitest';
import { grantId } from '../../../contracts/ids.ts';
import { factsOf } from '../../../ledger/export/entry-facts.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';

it.each(['PaymentRefunded', 'RefundWithdrawn', 'PaymentDisputed', 'DisputeClosed'] as const)(
  '%s is about the grant of the payment whose money went back, or did not',
  (type) => {
    const event = exampleOf(type);
    const bought = grantId('payment_pi_1');
    expect(factsOf({ event, bought })).toEqual({ request: '', key: '', model: '', grant: 'payment_pi_1' });
  },
);
