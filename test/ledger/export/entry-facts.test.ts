import { expect, it } from 'vitest';
import { factsOf } from '../../../ledger/export/entry-facts.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';

it.each(['PaymentRefunded', 'PaymentDisputed', 'DisputeClosed'] as const)(
  '%s is about the grant of the payment whose money went back',
  (type) => {
    const event = exampleOf(type);
    expect(factsOf(event)).toEqual({ request: '', key: '', model: '', grant: `payment_${event.data.paymentId}` });
  },
);
