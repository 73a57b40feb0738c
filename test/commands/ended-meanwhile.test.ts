import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { SECRET_KEY, StripeServer, WEBHOOK_SECRET } from '../fixtures/stripe/stripe-server.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { faultsOf } from '../ledger/audit/account-faults.ts';

/** A gateway that hears Stripe's webhooks, the program on its log, and Stripe. */
async function scene() {
  const server = endedLater(await StripeServer.start());
  const log = new MemoryEventLog();
  const program = endedLater(await programInProcess(log));
  const folder = temporaryFolder();
  const secretIn = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const stripe = {
    ...{ secretKeyFile: secretIn('key', SECRET_KEY), webhookSecrets: [{ file: secretIn('webhook', WEBHOOK_SECRET) }] },
    ...{ successUrl: 'https://app.example/paid', baseUrl: server.url },
  };
  const settings = { payments: { provider: 'stripe', stripe }, metrics: { serve: { port: 0 } } };
  await identifyLedger(log, Date.now(), recordingBy('gateway', Date.now()));
  const gateway = endedLater(await startTestGateway({ log, settings }));
  writeFileSync(program.file, JSON.stringify({ ...JSON.parse(readFileSync(program.file, 'utf8')), ...settings }));
  const id = accountId('acct_ada');
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', id, '--trial-usd', '0');
  const events = async () => (await gateway.events(id)).filter(({ type }) => /^Payment/.test(type));
  return {
    ...{ server, program, id, events },
    /** The program's command, to whose request that ends so Stripe's answer comes only once the gateway has heard of it. */
    heardBefore: async (path: string, type: string, words: readonly string[]): Promise<string> => {
      const heard: number[] = [];
      server.beforeAnswer = async (asked) => {
        if (!asked.path.endsWith(path)) return false;
        const event = server.events.findLast((one) => one.type === type);
        if (event === undefined) throw new Error(`Stripe tells of no ${type}`);
        heard.push(await server.deliver(`${gateway.gateway.metricsUrl}/webhooks/stripe`, event));
        return false;
      };
      const said = await program.run(...words).catch((error: Error) => error.message);
      server.beforeAnswer = null;
      expect(heard).toEqual([200]);
      return said;
    },
    /** What the account's events come to. */
    balance: async (): Promise<unknown> => {
      const faults = faultsOf((await gateway.events(id)) as never);
      expect(faults.filter((fault) => !fault.includes('the account that is opened'))).toEqual([]);
      return (await program.json('account', 'show', id)).balance;
    },
  };
}

it('what an operator ends at Stripe, and the gateway hears of before the command is answered, is ended once, by the operator', async () => {
  const { program, id, events, heardBefore, balance } = await scene();
  await program.run('account', 'plan', id, 'starter');
  const decline = ['payment', 'decline', id, '--reason', 'typed wrong'];
  expect(await heardBefore('/cancel', 'payment_intent.canceled', decline)).toMatch(
    /nothing was paid: typed wrong\n.*nothing was written/,
  );
  expect(await events()).toMatchObject([{ type: 'PaymentAbandoned', data: { endedBy: 'operator' } }]);
  expect(await program.run('account', 'show', id)).toContain('ask for the plan again, or buy credits');
  expect(await balance()).toBe('0');
});

it('what an owner ends at Stripe, and the gateway hears of before the command is answered, is ended once', async () => {
  const { server, program, id, events, heardBefore, balance } = await scene();
  const as = ['--as', 'ada@example.com'];
  await program.run('credits', 'purchase', id, '--usd', '20', '--id', 'p1', ...as);
  const decline = ['payment', 'decline', id, '--reason', 'typed wrong', ...as];
  expect(await heardBefore('/expire', 'checkout.session.expired', decline)).toMatch(
    /nothing was paid: typed wrong\n.*nothing was written/,
  );
  expect(server.get('cs_1').status).toBe('expired');
  expect((await events()).map(({ type }) => type)).toEqual(['PaymentAbandoned']);
  await program.run('credits', 'purchase', id, '--usd', '5', ...as);
  expect(await balance()).toBe('0');
});

it('what is paid at Stripe, and the gateway hears of, while an operator is ending it, is paid once, which the command says', async () => {
  const { server, program, id, events, heardBefore, balance } = await scene();
  await program.run('credits', 'purchase', id, '--usd', '20', '--id', 'p1');
  server.pay('cs_1');
  const decline = ['payment', 'decline', id, 'p1', '--reason', 'typed wrong'];
  expect(await heardBefore('/sessions', 'checkout.session.completed', decline)).toMatch(/p1 was paid/);
  expect((await events()).map(({ type }) => type)).toEqual(['PaymentSucceeded']);
  expect(await balance()).toBe('20000000');
});
