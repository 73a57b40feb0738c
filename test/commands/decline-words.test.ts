import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { accountId, attemptId } from '../../contracts/ids.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { SECRET_KEY, StripeServer } from '../fixtures/stripe/stripe-server.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const LOST = /lost_card|stolen_card/;

/** An account whose card is lost, by Stripe. */
async function site() {
  const server = endedLater(await StripeServer.start());
  const program = endedLater(await programInProcess());
  const stripe = { secretKeyEnv: 'STRIPE_KEY', successUrl: 'https://app.example/paid', baseUrl: server.url };
  writeFileSync(
    program.file,
    JSON.stringify({ data: dirname(program.file), payments: { provider: 'stripe', stripe } }),
  );
  Object.assign(program.context.environment, { STRIPE_KEY: SECRET_KEY });
  const nowMs = Date.now();
  await identifyLedger(program.log, nowMs, recordingBy('gateway', nowMs));
  await program.run('catalog', 'publish', EXAMPLE);
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const does = async (...commands: readonly AccountCommand[]): Promise<void> => {
    for (const command of commands)
      expect(
        await executeCommand(program.log, accountId('acct_ada'), command, SYSTEM, recordingBy('payments', nowMs)),
      ).toMatchObject({ type: 'done' });
  };
  await does({
    ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_lost' },
    ...{ brand: 'visa', last4: '4242', consentedAtMs: nowMs, by: 'ada@example.com' },
  });
  return { program, server, does, nowMs };
}

it.each([
  { who: 'its owner', as: ['--as', 'ada@example.com'], word: 'card_declined', isTerminal: false },
  { who: 'an operator', as: [], word: 'lost_card', isTerminal: true },
])('why a card was declined is told $who as $word, by every command', async ({ as, word, isTerminal }) => {
  const outcome = { type: 'failed', code: word, isTerminal };
  const { program } = await site();
  const untold = (text: string): void => {
    expect(text).toContain(word);
    if (as.length > 0) expect(text).not.toMatch(LOST);
  };
  const begin = ['account', 'plan', 'acct_ada', 'starter', ...as];
  const said = await (await site()).program.run(...begin);
  untold(said);
  expect(said).toContain(`the first payment of the plan starter was declined (${word}), the plan is given up unless`);
  expect(await program.json(...begin)).toMatchObject({ outcome, billing: { due: { declined: word } } });
  await expect(program.run(...begin)).rejects.toThrow(
    /^acct_ada: the saved payment method, [^_]* again: save another one/,
  );
  const show = await program.json('account', 'show', 'acct_ada', ...as);
  expect(show).toMatchObject({ billing: { plan: { due: { declined: word } } } });
  untold(await program.run('account', 'show', 'acct_ada', ...as));
  const decline = isTerminal ? 'for good' : 'this time';
  const [{ attemptId: id, ...listed }] = (await program.json('payment', 'list', 'acct_ada', ...as)) as never as [
    { attemptId: string },
  ];
  expect(listed).toMatchObject({ decline });
  expect(show).toMatchObject({ billing: { payments: { attempts: { [id]: { decline } } } } });
  const ask = ['payment', 'ask', 'acct_ada', id, ...as];
  expect(await program.json(...ask)).toMatchObject({ outcome });
  untold(await program.run(...ask));
});

it.each([
  { who: 'its owner', as: ['--as', 'ada@example.com'], code: 'card_declined', isTerminal: false },
  { who: 'an operator', as: [], code: 'lost_card', isTerminal: true },
])('who ends a purchase that was declined at Stripe, as $who, is told $code', async ({ as, code, isTerminal }) => {
  const { program, server } = await site();
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'p1', '--as', 'ada@example.com');
  const [page] = server.all('checkout.session');
  const id = String(page?.id);
  server.pay(id, 'pm_lost');
  // As where a bank answers once the page is over.
  server.change(id, { status: 'complete', url: null });
  const decline = ['payment', 'decline', 'acct_ada', 'p1', '--reason', 'no more wanted', ...as];
  expect(await program.json(...decline)).toMatchObject({ outcome: { type: 'failed', code, isTerminal } });
});

it('why auto-reload is paused is told its owner as of any decline, and an operator as it is', async () => {
  const { program, does, nowMs } = await site();
  const reload = attemptId('reload_1');
  await program.run(
    ...['credits', 'auto-reload', 'acct_ada', '--threshold-usd', '5', '--target-usd', '20'],
    ...['--monthly-cap-usd', '100', '--consent', '--as', 'ada@example.com'],
  );
  const at = Date.now() + 1_000;
  await does(
    { type: 'StartAutoReload', attemptId: reload, provider: 'stripe', nowMs: at },
    { type: 'RecordPaymentFailure', attemptId: reload, code: 'stolen_card', isTerminal: true, nowMs: at },
  );
  const show = ['account', 'show', 'acct_ada'];
  const paused = (word: string) => ({ billing: { payments: { reload: { paused: word } } } });
  expect(await program.json(...show)).toMatchObject(paused('stolen_card'));
  expect(await program.run(...show)).toContain('paused: stolen_card');
  const owner = ['--as', 'ada@example.com'];
  expect(await program.json(...show, ...owner)).toMatchObject(paused('card_declined'));
  expect(await program.run(...show, ...owner)).toContain('paused: card_declined');
  // Whoever prints it: it is for the account.
  const month = new Date(nowMs).toISOString().slice(0, 7);
  for (const format of ['table', 'json', 'csv', 'html']) {
    const statement = await program.run('account', 'statement', 'acct_ada', '--month', month, '--format', format);
    expect(statement).toContain('payment failed: card_declined');
    expect(statement).toContain('auto-reload paused: card_declined');
    expect(statement).not.toMatch(LOST);
  }
  expect(await program.run('ledger', 'replay', 'acct_ada')).toContain('auto-reload paused: stolen_card');
});

it('who buys without Stripe as an owner is told that an operator confirms it, and not how', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const purchase = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'p1'];
  const said = await program.run(...purchase, '--as', 'ada@example.com');
  expect(said).toContain('(p1): waits to be paid, and counts once an operator has confirmed that it was');
  expect(said).not.toContain('gateway payment confirm');
  expect(await program.run(...purchase)).toContain('gateway payment confirm acct_ada');
});
