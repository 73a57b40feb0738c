import type { StripeServer } from '../../fixtures/stripe/stripe-server.ts';

/** What people do at Stripe, where there is something to do it to; each once for a payment. */
export function act(server: StripeServer, what: 'pay' | 'refund' | 'dispute' | 'win'): void {
  const paid = server.all('payment_intent').filter(({ status }) => status === 'succeeded');
  const half = (object: string) =>
    paid.find(({ id }) => server.all(object).every(({ payment_intent: of }) => of !== id));
  if (what === 'pay') {
    const page = server.all('checkout.session').find(({ status }) => status === 'open');
    if (page !== undefined) server.pay(page.id);
  } else if (what === 'win') {
    const open = server.all('dispute').find(({ status }) => status === 'needs_response');
    if (open !== undefined) server.closeDispute(open.id, 'won');
  } else {
    const intent = half(what);
    if (intent !== undefined) server[what](intent.id, Math.floor(Number(intent.amount) / 2));
  }
}
