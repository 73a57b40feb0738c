import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { accountId, paymentId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { factsOfOutcome } from '../../../ledger/payments/ask-of-attempt.ts';
import { stripeClient } from '../../../ledger/payments/stripe-client.ts';
import { StripeProvider } from '../../../ledger/payments/stripe-provider.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import {
  LEDGER,
  NOTHING_SAVED,
  STARTED_MS,
  STRIPE_OF_TESTS,
  stripeAttempt,
  stripeConfiguration,
} from '../../fixtures/stripe/stripe-example.ts';

/** Something in Stripe's place. */
async function answering(answer: RequestListener) {
  const seen = { requests: 0, connections: 0 };
  const server = createServer((request, response) => {
    seen.requests++;
    answer(request, response);
  });
  server.on('connection', () => seen.connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const HOUR_MS = 3_600_000;
const NEVER: RequestListener = () => undefined;

const clientOf = (url: string, requestMs?: number) =>
  endedLater(stripeClient({ baseUrl: url }, STRIPE_OF_TESTS.secretKey, requestMs)).stripe;

const providerOf = (url: string): StripeProvider =>
  new StripeProvider({
    ...{ configuration: stripeConfiguration(url), secrets: STRIPE_OF_TESTS, ledgerId: async () => LEDGER },
    clock: () => STARTED_MS,
  });

it('an answer that comes in drips ends with the time of its request, which is asked once', async () => {
  const { seen, url } = await answering((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    const drips = setInterval(() => response.write(' '), 5);
    response.on('close', () => clearInterval(drips));
  });
  await expect(clientOf(url, 300).balance.retrieve()).rejects.toMatchObject({ type: 'StripeConnectionError' });
  expect(seen.requests).toBe(1);
});

it('an answer longer than any of Stripe’s is none', async () => {
  const { url } = await answering((_, response) => void response.end(`${' '.repeat(9 * 2 ** 20)}{}`));
  await expect(clientOf(url).balance.retrieve()).rejects.toMatchObject({ type: 'StripeConnectionError' });
});

it('answers one after another come over one connection', async () => {
  const { seen, url } = await answering((_, response) => void response.end('{"object":"balance"}'));
  const { balance } = clientOf(url);
  for (let times = 0; times < 3; times++) expect(await balance.retrieve()).toMatchObject({ object: 'balance' });
  expect(seen).toEqual({ requests: 3, connections: 1 });
});

it('what is asked ends as its client is closed, that which waits for a connection, too', async () => {
  const { seen, url } = await answering(NEVER);
  const client = stripeClient({ baseUrl: url }, STRIPE_OF_TESTS.secretKey, HOUR_MS);
  const ended = Array.from({ length: LIMITS.paymentsAtOnceMax + 3 }, () =>
    client.stripe.balance.retrieve().then(String, ({ type }) => type),
  );
  while (seen.requests < LIMITS.paymentsAtOnceMax) await nextTurn();
  client.close();
  ended.push(client.stripe.balance.retrieve().then(String, ({ type }) => type));
  expect(new Set(await Promise.all(ended))).toEqual(new Set(['StripeConnectionError']));
});

it('a message is looked into while all that is asked of by itself has every connection, and what became of the money of that waits for one', async () => {
  const { seen, url } = await answering(({ url: path = '' }, response) => {
    if (path.startsWith('/v1/payment_intents/pi_1'))
      response.writeHead(404).end('{"error":{"code":"resource_missing"}}');
  });
  const provider = endedLater(providerOf(url));
  const attempt = stripeAttempt({ kind: 'purchase' });
  let ended = 0;
  const asked = Array.from({ length: LIMITS.paymentsAtOnceMax }, () =>
    provider.ask({ accountId: accountId('acme'), attempt, ...NOTHING_SAVED }).catch(() => {
      ended++;
    }),
  );
  while (seen.requests < asked.length) await nextTurn();
  const outcome = { type: 'paid', paymentId: paymentId('pi_1'), amount: attempt.price, paidAtMs: STARTED_MS } as const;
  asked.push(
    factsOfOutcome(provider, accountId('acme'), { ...attempt, outcome }).then(
      () => undefined,
      () => {
        ended++;
      },
    ),
  );
  const look = () => provider.factsOf({ kind: 'payment_intent', id: 'pi_1' });
  for (let times = 0; times < 2; times++) expect([await look(), ended]).toEqual([null, 0]);
  provider.close();
  await Promise.all(asked);
  await expect(look()).rejects.toThrow('Stripe could not be asked');
  expect(ended).toBe(asked.length);
});

it.each(['refunds', 'disputes'])('%s of one payment without an end are not listed for ever', async (endless) => {
  const metadata = { ledger: LEDGER, account: 'acme', attempt: 'bought' };
  const paid = { amount: 2_000, amount_received: 2_000, currency: 'usd' };
  const intent = { id: 'pi_1', object: 'payment_intent', status: 'succeeded', ...paid };
  const status = endless === 'refunds' ? 'failed' : 'warning_closed';
  const part = { id: 'one', status, amount: 100, currency: 'usd', created: 1, payment_intent: 'pi_1', charge: null };
  const { seen, url } = await answering(({ url: path = '' }, response) => {
    if (seen.requests > 100) return void response.socket?.destroy();
    const has_more = path.startsWith(`/v1/${endless}`);
    const list = { object: 'list', url: `/v1/${endless}`, has_more, data: has_more ? Array(100).fill(part) : [] };
    const isList = /^\/v1\/(refunds|disputes)/.test(path);
    response.end(
      JSON.stringify(isList ? list : { ...intent, metadata, created: 1, latest_charge: { id: 'ch_1', created: 1 } }),
    );
  });
  const provider = endedLater(providerOf(url));
  await expect(provider.factsOf({ kind: 'payment_intent', id: 'pi_1' })).rejects.toThrow('lists more than 1000');
});
