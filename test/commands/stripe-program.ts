import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { OWN_FORMS } from '../../contracts/event-forms.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { SECRET_KEY, StripeServer } from '../fixtures/stripe/stripe-server.ts';

/** The program on a ledger whose payments Stripe takes, with an account. */
export async function stripeProgram({
  environment = { STRIPE_KEY: SECRET_KEY } as Record<string, string>,
  forms = OWN_FORMS,
} = {}) {
  const server = endedLater(await StripeServer.start());
  const program = endedLater(await programInProcess());
  const stripe = { secretKeyEnv: 'STRIPE_KEY', successUrl: 'https://app.example/paid', baseUrl: server.url };
  const configure = (provider: string, product = 'gateway'): void =>
    writeFileSync(
      program.file,
      JSON.stringify({ product, data: dirname(program.file), payments: { provider, stripe } }),
    );
  configure('stripe');
  Object.assign(program.context.environment, environment);
  await identifyLedger(program.log, Date.now(), recordingBy('gateway', Date.now()), forms);
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  return { server, program, configure };
}
