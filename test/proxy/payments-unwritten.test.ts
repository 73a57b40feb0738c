import { expect, it } from 'vitest';
import { PayingAccounts } from '../../projections/paying-accounts.ts';
import { GRANTED, scene } from './webhook-scene.ts';

/** A purchase that Stripe says was paid, and whose money went back since. */
async function paidBack() {
  const began = await scene();
  const { server, begin, logLines } = began;
  server.pay(await begin());
  const intent = String(server.all('payment_intent')[0]?.id);
  server.refund(intent, 2_000);
  const told = (words: string) => logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes(words));
  return { ...began, intent, told };
}

it('what became of the money of a payment and is not written as the gateway stops is named in its log, with the command that writes it', async () => {
  const { gateway, payments, log, types, told } = await paidBack();
  log.faults = (_, events) => ({ type: events.some(({ type }) => type === 'PaymentRefunded') ? 'refuse' : 'none' });
  await payments.look();
  expect(await types()).toEqual(GRANTED);
  const of = { accountId: gateway.accountId, attemptId: 'bought' };
  expect(told('it is asked again')).toMatchObject([of]);
  await gateway.stop();
  const command = `gateway payment ask ${gateway.accountId} bought`;
  expect(told(command)).toMatchObject([{ ...of, level: 50 }]);
});

it('what became of the money of a payment is written by a later look, also where other views have taken the place of these', async () => {
  const { gateway, payments, log, types } = await paidBack();
  log.faults = (_, events) => ({ type: events.some(({ type }) => type === 'PaymentRefunded') ? 'refuse' : 'none' });
  await payments.look();
  expect(await types()).toEqual(GRANTED);
  const { accounts } = gateway.gateway.process.projections;
  // As they are made of rows, by which its payment is closed.
  const made = new PayingAccounts();
  for (const [id, state] of accounts.balance.all()) made.addFrom(id, state);
  expect([...made.ids()]).toEqual([]);
  accounts.paying.adopt(made);
  log.faults = () => ({ type: 'none' });
  await payments.look();
  expect(await types()).toContain('PaymentRefunded');
});

it('what is written by then is not', async () => {
  const { gateway, payments, types, told } = await paidBack();
  await payments.look();
  expect(await types()).toContain('PaymentRefunded');
  await gateway.stop();
  expect(told('gateway payment ask')).toEqual([]);
});

it('what a look finds while the gateway stops is named, too', async () => {
  const { gateway, payments, types, told } = await paidBack();
  const { provider } = gateway.gateway.process;
  const found = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const [ask, close] = [provider.ask.bind(provider), provider.close?.bind(provider)];
  provider.ask = async (one) => {
    const outcome = await ask(one);
    found.resolve();
    await held.promise;
    return outcome;
  };
  provider.close = () => {
    close?.();
    held.resolve();
  };
  const looked = payments.look();
  await found.promise;
  await gateway.stop();
  await looked;
  expect(await types()).not.toContain('PaymentRefunded');
  expect(told('gateway payment ask')).toMatchObject([{ accountId: gateway.accountId, attemptId: 'bought' }]);
});

it('what is not written since the log does not answer as the gateway stops is named, too', async () => {
  const { payments, log, told } = await paidBack();
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const append = log.append.bind(log);
  log.append = async (...args) => {
    if (args[2].some(({ type }) => type === 'PaymentRefunded')) {
      asked.resolve();
      await held.promise;
    }
    return append(...args);
  };
  const looked = payments.look();
  await asked.promise;
  await payments.close(0);
  expect(told('gateway payment ask').length).toBe(1);
  held.resolve();
  await looked;
});

it('what Stripe tells of a payment and is refused is told as that, and is asked of by itself no more', async () => {
  const { gateway, payments, server, types, told } = await paidBack();
  const listed = () => server.asked.filter(({ path }) => path === '/v1/refunds').length;
  // With another amount each further time.
  server.altered = (answer, { path }) => {
    const { data = [] } = answer as { data?: readonly object[] };
    return path === '/v1/refunds' && listed() > 1
      ? { ...answer, data: data.map((one) => ({ ...one, amount: 500 })) }
      : answer;
  };
  await payments.look();
  expect(await types()).toEqual([...GRANTED, 'PaymentRefunded', 'GrantRevoked']);
  const of = { accountId: gateway.accountId, attemptId: 'bought' };
  const refused = told('is refused, and the rest is written');
  expect(refused).toMatchObject([{ ...of, level: 50, err: { message: expect.stringContaining('20.000000 USD') } }]);
  expect(told('it is asked again')).toEqual([]);
  const asked = server.asked.length;
  await payments.look();
  expect(server.asked.length).toBe(asked);
});

it('what Stripe says was paid, and knows as no payment of the account when it is asked for all of it, is open', async () => {
  const { payments, server, types, told } = await paidBack();
  server.altered = (answer, { path }) =>
    path.startsWith('/v1/payment_intents/') ? { ...answer, metadata: { of: 'somebody else' } } : answer;
  await payments.look();
  expect(await types()).toEqual(['PurchaseStarted']);
  expect(told('it is asked again')).toMatchObject([{ attemptId: 'bought', level: 50 }]);
  server.altered = null;
  await payments.look();
  expect(await types()).toEqual([...GRANTED, 'PaymentRefunded', 'GrantRevoked']);
});
