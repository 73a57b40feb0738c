import { beforeEach, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, attemptId, paymentId, revision } from '../../contracts/ids.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { OPERATOR } from '../fixtures/ledger/actors.ts';
import { granted, usd } from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const NOW = Date.now();

let program: ProgramInProcess;
beforeEach(async () => {
  program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
});

const balance = async (): Promise<unknown> => (await program.json('account', 'show', 'acct_ada')).balance;
const list = async (...only: readonly string[]): Promise<unknown> => program.json('payment', 'list', ...only);
const refused = (message: RegExp) => ({ exitCode: EXIT.refused, message: expect.stringMatching(message) });

it('gateway credits purchase begins a payment once, and payment confirm grants its credits once', async () => {
  const purchase = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--price-usd', '18', '--id', 'invoice-1'];
  expect(await program.run(...purchase)).toMatch(
    /^acct_ada: 20\.000000 USD of credits for 18\.000000 USD \(invoice-1\): waits to be paid\n\nnext, when it is: gateway payment confirm acct_ada invoice-1 --config \S+\nwritten at /,
  );
  expect(await program.json(...purchase)).toMatchObject({
    attemptId: 'invoice-1',
    outcome: { type: 'waits' },
    recordedAt: null,
  });
  await expect(program.run('credits', 'purchase', 'acct_ada', '--usd', '5')).rejects.toMatchObject(
    refused(/^acct_ada: purchase invoice-1 of 20\.000000 USD is open/),
  );
  expect(await list()).toMatchObject([
    { accountId: 'acct_ada', attemptId: 'invoice-1', state: 'open', priceMicroUsd: '18000000' },
  ]);
  expect(await program.json('payment', 'ask', 'acct_ada')).toMatchObject({ outcome: { type: 'waits' } });
  expect(await balance()).toBe('0');
  const confirm = ['payment', 'confirm', 'acct_ada', 'invoice-1', '--payment', 'transfer 42'];
  expect(await program.run(...confirm)).toMatch(
    /invoice-1 \(20\.000000 USD of credits\) paid \(transfer 42\)\nwritten at /,
  );
  expect(await program.run(...confirm)).toMatch(/nothing was written: it is so already$/m);
  const paid = { type: 'paid', paymentId: 'transfer 42', amount: '18000000' };
  // When that was is not known any more.
  expect((await program.json(...confirm)).outcome).toEqual(paid);
  expect(await balance()).toBe('20000000');
  expect(await list()).toEqual([]);
  expect(await list('acct_ada')).toMatchObject([{ state: 'paid', paymentId: 'transfer 42' }]);
  // It was said to wait, to be paid once more.
  expect(await program.run(...purchase)).toMatch(/\(invoice-1\): paid \(transfer 42\)\nnothing was written/);
  expect(await program.json('payment', 'ask', 'acct_ada', 'invoice-1')).toMatchObject({ outcome: paid });
  await expect(program.run('payment', 'confirm', 'acct_ada')).rejects.toMatchObject(refused(/no payment is open/));
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'invoice-2');
  await expect(program.run(...confirm.with(3, 'invoice-2'))).rejects.toMatchObject(
    refused(/^acct_ada: --payment: transfer 42 has paid invoice-1, and pays nothing else$/),
  );
  expect(await balance()).toBe('20000000');
  await program.run('payment', 'decline', 'acct_ada', '--reason', 'typed twice');
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
  expect(await program.run('ledger', 'replay', 'acct_ada')).toMatch(/transfer/);
});

it('gateway payment decline ends one without money, and what was paid all the same is confirmed later', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  const decline = ['payment', 'decline', 'acct_ada', '--reason', 'invoice cancelled'];
  expect(await program.run(...decline)).toMatch(/nothing was paid: invoice cancelled/);
  expect(await list('acct_ada')).toMatchObject([{ state: 'abandoned', paymentId: null }]);
  expect(await program.run(...decline, 'invoice-1')).toMatch(/nothing was written: it is so already$/m);
  const again = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1'];
  expect(await program.run(...again)).toMatch(
    /\(invoice-1\): nothing was paid: it was ended before\nnothing was written/,
  );
  expect(await program.run('payment', 'ask', 'acct_ada', 'invoice-1')).toMatch(
    /nothing was paid: it was ended before\n/,
  );
  await program.run('payment', 'confirm', 'acct_ada', 'invoice-1');
  expect(await list('acct_ada')).toMatchObject([{ state: 'paid', paymentId: 'manual_invoice-1' }]);
  await expect(program.run(...decline, 'invoice-1')).rejects.toMatchObject(
    refused(
      /invoice-1 was paid \(manual_invoice-1\); once the money went back, or where there was none: gateway payment refund acct_ada manual_invoice-1 --usd 20\.00 --reason "…" --config \S+\.json$/,
    ),
  );
  expect(await balance()).toBe('20000000');
  const refund = ['payment', 'refund', 'acct_ada', 'manual_invoice-1', '--reason', 'x'];
  await program.run(...refund, '--usd', '5');
  await expect(program.run(...decline, 'invoice-1')).rejects.toThrow(' --usd 15.00 --id refund_manual_invoice-1_2 ');
  await expect(program.run(...refund, '--usd', '15')).rejects.toThrow('was told before');
  const undo = ['payment', 'withdraw-refund', 'acct_ada', 'manual_invoice-1', '--reason', 'typed wrong', '--id'];
  await program.run(...undo, 'refund_manual_invoice-1');
  await expect(program.run(...decline, 'invoice-1')).rejects.toThrow(' --usd 20.00 --id refund_manual_invoice-1_2 ');
  await program.run(...refund, '--usd', '20', '--id', 'refund_manual_invoice-1_2');
  await program.run(...undo, 'refund_manual_invoice-1_2');
  await expect(program.run(...decline, 'invoice-1')).rejects.toThrow(' --usd 20.00 --id refund_manual_invoice-1_3 ');
  await program.run(...refund, '--usd', '20', '--id', 'refund_manual_invoice-1_3');
  await expect(program.run(...decline, 'invoice-1')).rejects.toMatchObject(
    refused(/\(manual_invoice-1\); all of it went back, or is disputed: nothing of it is left$/),
  );
});

it('the command that gateway payment decline names is one of a shell, whatever the payment is called', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'of $(touch x) \'a\' "b"');
  await expect(program.run('payment', 'decline', 'acct_ada', 'invoice-1', '--reason', 'x')).rejects.toThrow(
    `: gateway payment refund acct_ada 'of $(touch x) '\\''a'\\'' "b"' --usd 20.00 --reason "…" --config ${program.file}`,
  );
});

it('gateway payment refund and dispute take the credits of money that went back, and what was won comes back', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer 42');
  const refund = [
    'payment',
    'refund',
    'acct_ada',
    'transfer 42',
    '--usd',
    '5',
    '--reason',
    'too much',
    '--id',
    'credit note 1',
  ];
  expect(await program.run(...refund)).toMatch(
    /of transfer 42 5\.000000 USD refunded \(credit note 1\), 5\.000000 USD of credits revoked; the balance is 15\.000000 USD/,
  );
  expect(await program.run(...refund)).toMatch(/the balance is 15\.000000 USD\nnothing was written/);
  const dispute = ['acct_ada', 'transfer 42', '--id', 'case 7'];
  const most = refused(/^acct_ada: --usd: .* at most 15\.000000 USD$/);
  const bank = ['--reason', 'by the bank', '--actor', 'eve'];
  await expect(program.run('payment', 'dispute', ...dispute, '--usd', '20', ...bank)).rejects.toMatchObject(most);
  const disputed = await program.json('payment', 'dispute', ...dispute, '--usd', '15', ...bank);
  expect(disputed).toMatchObject({ balanceMicroUsd: '0' });
  await program.run('payment', 'close-dispute', ...dispute, '--outcome', 'won', ...bank);
  expect(await program.run('payment', 'list', 'acct_ada')).toContain(
    'paid; 5.000000 USD refunded (credit note 1); 15.000000 USD disputed (case 7), won',
  );
  expect(await balance()).toBe('15000000');
  await program.run('credits', 'revoke', 'acct_ada', '--grant', 'payment_transfer 42', '--usd', '12', '--reason', 'x');
  expect(await program.run(...refund.with(-1, 'credit note 2'))).toMatch(
    /3\.000000 USD of credits revoked; 2\.000000 USD of its credits could not be: they were before; the balance is 0\.000000 USD/,
  );
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
  await expect(program.run(...refund.with(3, 'x'))).rejects.toMatchObject(refused(/no payment x/));
  for (const of of [refund, ['payment', 'dispute', ...dispute, '--usd', '1', ...bank].with(3, 'transfer 42')])
    await expect(program.run(...of.with(3, 'invoice-1'))).rejects.toMatchObject(
      refused(/^acct_ada: invoice-1 is an attempt: the payment that it has is "transfer 42"$/),
    );
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-2');
  await expect(program.run(...refund.with(3, 'invoice-2'))).rejects.toMatchObject(
    refused(/^acct_ada: invoice-2 is an attempt: it is open, and has no payment$/),
  );
});

it('the same refund again takes nothing more, also without an id of its own, under which a further one is made', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'T');
  const refund = ['payment', 'refund', 'acct_ada', 'T', '--reason', 'too much', '--usd'];
  expect(await program.run(...refund, '5')).toContain('5.000000 USD refunded (refund_T)');
  expect(await program.run(...refund, '5')).toMatch(/the balance is 15\.000000 USD\nnothing was written/);
  await expect(program.run(...refund, '3')).rejects.toMatchObject(
    refused(/^acct_ada: --id: refund_T is about 5\.000000 USD, .* a further one has an id of its own$/),
  );
  await program.run(...refund, '5', '--id', 'note 2');
  expect(await balance()).toBe('10000000');
});

it('a payment under whose id an operator of before has granted is written down all the same, and told by its own credits', async () => {
  const byHand = granted('payment_T', 7_000_000, { costBasis: usd(0), source: 'promotion' });
  const before = revision(0);
  await program.log.append(
    accountStream(accountId('acct_ada')),
    before,
    encodeEvents([byHand], recordingBy('eve', NOW)),
  );
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'T');
  const back = ['acct_ada', 'T', '--usd', '5', '--reason', 'too much'];
  expect(await program.run('payment', 'refund', ...back)).toContain(
    '5.000000 USD of credits revoked; the balance is 22.',
  );
  expect((await program.json('account', 'show', 'acct_ada')).grants).toMatchObject([
    { grantId: 'payment_T', remaining: '7000000' },
    { grantId: 'payment_~T', remaining: '15000000' },
  ]);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
  const books = await program.run('ledger', 'export', '--format', 'hledger');
  expect(books).toMatch(/PaymentRefunded\n.*grant:payment_~T\n +Assets:Clearing:Purchases +-5\.0+ USD/);
  const month = new Date(NOW).toISOString().slice(0, 7);
  const { payments, notes } = await program.json('ledger', 'report', '--month', month);
  expect({ payments, notes }).toMatchObject({
    payments: { oneByOne: [{ credits: '20000000' }, { credits: '-5000000' }] },
    notes: [],
  });
  const statement = await program.run('account', 'statement', 'acct_ada', '--month', month);
  expect(statement).toMatch(/20\.000000 USD paid at manual .*\(T, invoice-1\)/);
  expect(statement).toContain('payment_~T');
});

it('gateway payment withdraw-refund undoes a refund that was written down by mistake, and close-dispute the other way how one ended, in all books', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'T');
  const said = ['--reason', 'by mistake', '--actor', 'eve'];
  const back = ['acct_ada', 'T', ...said, '--id'];
  await program.run('payment', 'refund', ...back, 'note 1', '--usd', '5');
  await program.run('payment', 'dispute', ...back, 'case 7', '--usd', '10');
  const withdraw = ['payment', 'withdraw-refund', ...back, 'note 1'];
  expect(await program.run(...withdraw)).toMatch(
    /^acct_ada: of T refund note 1 withdrawn; the balance is 10\.000000 USD\nwritten at /,
  );
  expect(await program.run(...withdraw)).toMatch(/^nothing was written: it is so already$/m);
  await expect(program.run(...withdraw.with(-1, 'note 9'))).rejects.toMatchObject(refused(/T has no refund note 9$/));
  await expect(program.run('payment', 'refund', ...back, 'note 1', '--usd', '5')).rejects.toMatchObject(
    refused(/^acct_ada: --id: refund note 1 was withdrawn/),
  );
  const close = ['payment', 'close-dispute', ...back, 'case 7', '--outcome'];
  await program.run(...close, 'lost');
  expect(await program.run(...close, 'won')).toMatch(/dispute case 7 was won; the balance is 20\.000000 USD/);
  expect(await program.run(...close, 'lost')).toMatch(
    /dispute case 7 was lost, 10\.000000 USD of credits revoked; the balance is 10\.000000 USD/,
  );
  expect(await program.run(...close, 'won')).toMatch(/the balance is 20\.000000 USD/);
  expect(await program.run('payment', 'list', 'acct_ada')).toContain(
    'paid; refund note 1 withdrawn; 10.000000 USD disputed (case 7), won',
  );
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
  const replay = await program.run('ledger', 'replay', 'acct_ada');
  expect(replay).toContain('refund note 1 withdrawn: 5.000000 USD of T did not go');
  expect(replay).toContain('dispute case 7 was lost, and not won as was said');
  const month = new Date(program.clock?.() ?? Date.now()).toISOString().slice(0, 7);
  for (const format of ['table', 'json', 'csv', 'html'])
    expect(await program.run('account', 'statement', 'acct_ada', '--month', month, '--format', format)).toContain(
      'refund note 1 withdrawn: 5.000000 USD of T did not go back, written down by eve: by mistake',
    );
  const moved = (micro: string | null) => ({ money: micro, credits: micro });
  expect(await program.json('ledger', 'report', '--month', month)).toMatchObject({
    payments: {
      oneByOne: ['20000000', '-5000000', '-10000000', '5000000', null, '10000000', '-10000000', '10000000'].map(moved),
    },
  });
  // In a row: account, and what it is debited in micro-USD, or less than nothing.
  const exported = await program.run('ledger', 'export', '--format', 'csv');
  const sumOf = (account: string): bigint =>
    [...exported.matchAll(new RegExp(`,${account},[-.\\d]+,(-?\\d+),`, 'g'))].reduce(
      (sum, [, one = '']) => sum + BigInt(one),
      0n,
    );
  expect(['Assets:Clearing:Purchases', 'Assets:Disputes', 'Income:Refunds'].map(sumOf)).toEqual([20_000_000n, 0n, 0n]);
});

it('tells the balance after all that comes back, also of what several disputes had taken of a payment that is refunded, too', async () => {
  const acct = accountId('acct_ada');
  const paid = { paymentId: paymentId('pi_1'), actor: 'stripe', nowMs: NOW };
  const dispute = { ...paid, type: 'RecordDispute', openedAtMs: NOW } as const;
  const close = { ...paid, type: 'CloseDispute', outcome: 'won', closedAtMs: NOW, stood: null } as const;
  const attempt = { attemptId: attemptId('p1'), provider: 'stripe', nowMs: NOW } as const;
  const told: readonly AccountCommand[] = [
    { type: 'StartPurchase', ...attempt, amount: usd(20_000_000), price: usd(20_000_000), by: 'ada' },
    { type: 'RecordPayment', ...attempt, paymentId: paid.paymentId, amount: usd(20_000_000), paidAtMs: NOW },
    { ...dispute, disputeId: 'dp_1', amount: usd(8_000_000) },
    { ...dispute, disputeId: 'dp_2', amount: usd(12_000_000) },
    { ...paid, type: 'RecordRefund', refundId: 're_1', amount: usd(20_000_000), refundedAtMs: NOW },
    { ...close, disputeId: 'dp_1' },
    { ...close, disputeId: 'dp_2' },
  ];
  for (const command of told)
    expect(await executeCommand(program.log, acct, command, OPERATOR, recordingBy('stripe', NOW))).toMatchObject({
      type: 'done',
    });
  expect(await balance()).toBe('0');
  const withdraw = ['payment', 'withdraw-refund', 'acct_ada', 'pi_1', '--id', 're_1', '--reason', 'it failed'];
  expect(await program.json(...withdraw)).toMatchObject({ balanceMicroUsd: '20000000' });
  expect(await balance()).toBe('20000000');
  expect(await program.run(...withdraw)).toMatch(/the balance is 20\.000000 USD\nnothing was written/);
});

it('who has confirmed a payment, and written down what went back of it, and why, stands in replay, statement and report', async () => {
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'T', '--actor', 'grace');
  const back = ['acct_ada', 'T', '--id', 'case 7'];
  for (const command of [
    ['refund', ...back, '--usd', '5'],
    ['close-dispute', ...back, '--outcome', 'lost'],
  ])
    await expect(program.run('payment', ...command)).rejects.toThrow(/required option '--reason/);
  const bank = ['--reason', 'by the bank', '--actor', 'eve'];
  await program.run('payment', 'refund', ...back.with(-1, 'note 1'), '--usd', '5', ...bank.with(1, 'too much'));
  await program.run('payment', 'dispute', ...back, '--usd', '15', ...bank);
  await program.run('payment', 'close-dispute', ...back, '--outcome', 'lost', ...bank.with(1, 'lost'));
  const month = new Date(program.clock?.() ?? Date.now()).toISOString().slice(0, 7);
  const statement = (format: string) =>
    program.run('account', 'statement', 'acct_ada', '--month', month, '--format', format);
  const replay = await program.run('ledger', 'replay', 'acct_ada');
  expect(replay).toMatch(
    /invoice-1\), confirmed by grace\n.* refunded \(note 1\), written down by +[\d.]+\s+eve: too much/s,
  );
  expect(replay).toMatch(/dispute case 7 was lost, written down by eve: lost/);
  for (const format of ['table', 'json', 'csv', 'html']) {
    const shown = await statement(format);
    expect(shown).toContain('(T, invoice-1), confirmed by grace');
    expect(shown).toContain('5.000000 USD of T refunded (note 1), written down by eve: too much');
    expect(shown).toContain('15.000000 USD of T disputed by whoever paid (case 7), written down by eve: by the bank');
    expect(shown).toContain('dispute case 7 was lost, written down by eve: lost');
  }
  const report = await program.json('ledger', 'report', '--month', month);
  expect(report).toMatchObject({
    payments: {
      oneByOne: [
        { what: expect.stringMatching(/ paid at manual .* \(T, invoice-1\)$/), by: 'grace' },
        { what: '5.000000 USD of T refunded (note 1): too much', by: 'eve' },
        { what: expect.stringMatching(/ disputed by whoever paid \(case 7\): by the bank$/), by: 'eve' },
        { what: 'dispute case 7 was lost: lost', by: 'eve' },
      ],
    },
  });
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
});

it('gateway credits auto-reload is turned on with consent and off, and payment save-method says of what', async () => {
  const reload = ['credits', 'auto-reload', 'acct_ada'];
  const never = /^acct_ada: auto-reload is off; it never was configured\nnothing was written: it is so already\n$/;
  expect(await program.run(...reload, '--off')).toMatch(never);
  const terms = ['--threshold-usd', '5', '--target-usd', '20', '--monthly-cap-usd', '100'];
  await expect(program.run(...reload, ...terms)).rejects.toMatchObject({ exitCode: EXIT.usage });
  await expect(program.run(...reload, ...terms.with(3, '5'), '--consent')).rejects.toMatchObject(
    refused(/--target-usd: must be at least 0\.500000 USD above/),
  );
  expect(await program.run(...reload, ...terms, '--consent')).toMatch(
    /auto-reload is on, at 5\.000000 USD up to 20\.000000 USD, at most 100\.000000 USD a month; no payment method is saved, and nothing is bought before one is\n\nnext: gateway payment save-method acct_ada --id "…" --brand "…" --last4 "…" --config \S+\nwritten at /,
  );
  const method = ['acct_ada', '--id', 'mandate-7', '--brand', 'sepa', '--last4', '3000'];
  expect(await program.run('payment', 'save-method', ...method)).toMatch(/sepa xxxx3000 may be charged\nwritten at /);
  expect(await program.run('payment', 'save-method', ...method)).toMatch(/nothing was written/);
  expect(await program.run(...reload, ...terms.with(3, '21'), '--consent')).toMatch(/ a month\nwritten at /);
  expect(await program.json(...reload, ...terms, '--consent')).toMatchObject({ isOn: true, lacksMethod: false });
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--price-usd', '18', '--id', 'invoice-1');
  const shown = await program.run('account', 'show', 'acct_ada');
  expect(shown).toMatch(/^pays by itself +sepa ending in 3000 \(manual\), by consent of \d{4}-\S+Z$/m);
  expect(shown).toMatch(
    /^auto-reload +on; at 5\.000000 USD up to 20\.000000 USD, 0\.000000 USD of at most 100\.000000 USD in \d{4}-\d\d$/m,
  );
  expect(shown).toMatch(
    /^payment +invoice-1 \(purchase, manual\) of 20\.000000 USD for 18\.000000 USD: open since \d{4}-\S+Z$/m,
  );
  expect(await program.run(...reload, '--off')).toMatch(/auto-reload is off\nwritten at /);
  expect(await program.run('payment', 'remove-method', 'acct_ada')).toMatch(/written at /);
  expect(await program.run('ledger', 'verify', 'acct_ada')).toMatch(/0 faults|no fault/);
});

it('refuses what is not there, in words', async () => {
  await expect(program.run('payment', 'confirm', 'acct_ada', 'x')).rejects.toMatchObject(
    refused(/no payment attempt x/),
  );
  for (const args of [['list'], ['ask'], ['confirm']])
    await expect(program.run('payment', ...args, 'acct_no')).rejects.toMatchObject(refused(/there is no such account/));
  await expect(program.run('credits', 'purchase', 'acct_no', '--usd', '1')).rejects.toMatchObject(
    refused(/there is no such account/),
  );
  await expect(program.run('credits', 'purchase', 'acct_ada', '--usd', '0')).rejects.toMatchObject(
    refused(/^acct_ada: --usd: must be more than 0/),
  );
  await expect(program.run('credits', 'purchase', 'acct_ada', '--usd', '1', '--id', '/')).rejects.toThrow(
    /payment attempt/,
  );
});

it('of credits that went back and were spent already, what others have paid is not owed: said so by the command, in text and JSON', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'p1');
  await program.run('payment', 'confirm', 'acct_ada', 'p1');
  await program.run('balance', 'adjust', 'acct_ada', '--down', '5', '--reason', 'all of it');
  await program.run('credits', 'grant', 'acct_ada', '--usd', '2.5');
  const back = (type: string, usd: string, id: string, ...more: string[]) =>
    [...['payment', type, 'acct_ada', 'manual_p1', '--usd', usd, '--id', id, '--reason', 'back'], ...more] as const;
  expect(await program.run(...back('refund', '2', 'r1'))).toContain(
    '2.000000 USD of credits revoked, of which 2.000000 USD are taken of other credits; the balance is 0.500000 USD',
  );
  expect(await program.run(...back('dispute', '1', 'd1'))).toContain(
    '1.000000 USD of credits revoked, of which 0.500000 USD are taken of other credits, of which 0.500000 USD are owed now; the balance is -0.500000 USD',
  );
  expect(await program.json(...back('refund', '1', 'r2'))).toMatchObject({
    ...{ revokedMicroUsd: '1000000', owedMicroUsd: '1000000', balanceMicroUsd: '-1500000' },
  });
});

it('no payment is called as the second grant of another one would be', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '7', '--id', 'p1');
  await expect(program.run('payment', 'confirm', 'acct_ada', 'p1', '--payment', '~42')).rejects.toThrow(
    'payment: ~42 begins with ~, which none may: choose another name',
  );
  expect((await program.json('account', 'show', 'acct_ada')).balance).toBe('0');
});
