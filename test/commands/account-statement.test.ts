import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, attemptId, commandId, grantId, paymentId } from '../../contracts/ids.ts';
import { DECREASES, INCREASES } from '../../contracts/statement-events.ts';
import type { AccountCommand, CommandOf } from '../../ledger/account/commands.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { monthStatement } from '../../ledger/report/month-statement.ts';
import { noSums } from '../../ledger/statement/open-months.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { fold, given } from '../fixtures/ledger/decider-specification.ts';
import { CARD, granted, keyIssued, ms, opened, requestOf, usageOf, usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const MODEL = '=HYPERLINK("<img src=x onerror=alert(1)>")';
const STREAM = accountStream(accountId('acme'));
let program: ProgramInProcess;
let closeDecember: () => void;
let payInMarch: () => void;

/** What November has until it is closed, what comes late for it, and what December has. */
beforeAll(async () => {
  const log = new MemoryEventLog();
  const events: AccountEvent[] = [];
  const write = (recordedAt: string, ...added: AccountEvent[]): void => {
    events.push(...added);
    log.write(
      STREAM,
      encodeEvents(added, {
        commandId: commandId('019a5b3c-1111-7000-8000-000000000000'),
        actor: 'operator',
        recordedAt,
      }),
    );
  };
  const state = () => {
    const folded = fold(events);
    if (folded.type === 'unopened') throw new Error('not opened');
    return folded;
  };
  write('2026-11-05T10:00:00.000Z', opened, keyIssued(), granted('g', 1_000_000));
  write('2026-11-05T11:00:00.000Z', ...recordUsage(state(), usageOf(1, 250_000, { model: MODEL }), CARD));
  const sums = {
    ...noSums(),
    granted: 1_000_000n,
    debited: 250_000n,
  } as unknown as CommandOf<'CloseStatement'>['sums'];
  write(
    '2026-12-04T00:00:00.000Z',
    ...given(...events).decided({
      ...{ type: 'CloseStatement', month: '2026-11', sums, later: 0n, firstRevision: 2, lastRevision: 4, graceMs: 0 },
      nowMs: ms('2026-12-04T00:00:00.000Z'),
    }),
  );
  write('2026-12-05T10:00:00.000Z', ...recordUsage(state(), usageOf(2, 1_000), CARD));
  write('2026-12-06T10:00:00.000Z', granted('h', 5, { effectiveAt: '2026-12-06T10:00:00.000Z' }));
  const adjusted = given(...events).decided({
    ...{ type: 'AdjustBalance', adjustmentId: grantId('a'), direction: 'down', amount: usd(7) },
    ...{ reason: '=1+1 <b>goodwill</b>', actor: 'ops', nowMs: ms('2026-12-07T10:00:00.000Z') },
  });
  write('2026-12-07T10:00:00.000Z', ...adjusted);
  closeDecember = () => {
    const ofDecember = { ...noSums(), granted: 5n, debited: 1_000n, adjustedDown: 7n } as unknown as typeof sums;
    const nowMs = ms('2027-01-04T00:00:00.000Z');
    const closed = given(...events).decided({
      ...{ type: 'CloseStatement', month: '2026-12', sums: ofDecember, later: 0n, graceMs: 0, nowMs },
      ...{ firstRevision: 7, lastRevision: 9 },
    });
    write('2027-01-04T00:00:00.000Z', ...closed);
  };
  const recordedAt = '2027-03-02T10:00:00.000Z';
  const nowMs = ms(recordedAt);
  const attempt = { attemptId: attemptId('p1'), provider: 'manual' };
  const said = { paymentId: paymentId('T1'), reason: 'too much', actor: 'operator', nowMs };
  const crashed = usageOf(3, 0, { outcome: 'recovered', source: 'estimated', billable: false });
  payInMarch = () => {
    write(recordedAt, ...recordUsage(state(), crashed, CARD));
    for (const command of [
      { type: 'StartPurchase', ...attempt, amount: usd(20), price: usd(20), by: 'x', nowMs },
      { type: 'RecordPayment', ...attempt, paymentId: paymentId('T1'), amount: usd(20), paidAtMs: nowMs, nowMs },
      { type: 'RecordRefund', ...said, refundId: 're_1', amount: usd(5), refundedAtMs: nowMs },
      { type: 'SuspendAccount', reason: '=2+2 <b>card</b>' },
      { type: 'ReinstateAccount', reason: 'paid' },
      { type: 'ReportLateUsage', usage: usageOf(3, 0, { unpriced: ['x'] }), card: CARD },
      { type: 'DropException', requestId: requestOf(3), reason: 'not theirs', actor: 'ops' },
    ] satisfies AccountCommand[])
      write(recordedAt, ...given(...events).decided(command));
  };
  program = endedLater(await programInProcess(log), afterAll);
  program.clock = () => ms('2027-03-31T10:00:00.000Z');
});

const said = (month: string, format: string): Promise<string> =>
  program.run('account', 'statement', 'acme', '--month', month, '--format', format);
const json = async (month: string) => JSON.parse(await said(month, 'json'));

describe('gateway account statement', () => {
  it('shows a closed month as it was closed, whatever came after it', async () => {
    expect(await json('2026-11')).toMatchObject({
      ...{ status: 'closed', opening: '0', closing: '750000', closed: { lastRevision: 4 } },
      sums: { granted: '1000000', debited: '250000', adjustedDown: '0' },
      models: [{ model: MODEL, debited: '250000' }],
      movements: [{ revision: 2, amount: '1000000' }],
    });
    expect((await json('2026-11')).days).toHaveLength(30);
  });

  it('shows a month that is not closed as far as it has come, late facts of closed ones in it, and says so', async () => {
    expect(await json('2026-12')).toMatchObject({
      ...{ status: 'open', opening: '750000', closing: '748998', closed: null },
      sums: { granted: '5', debited: '1000', adjustedDown: '7' },
    });
    program.clock = () => ms('2027-01-04T23:00:00.000Z');
    const when =
      '2026-12 is not closed yet: these are its figures until now. A gateway that runs closes it from 2027-01-04T00:00:00.000Z on.';
    for (const form of ['table', 'html']) expect(await said('2026-12', form)).toContain(when);
    program.clock = () => ms('2027-03-31T10:00:00.000Z');
    expect(await json('2027-02')).toMatchObject({ status: 'open', opening: '748998', closing: '748998' });
    expect(await json('2026-12')).toMatchObject({ dueAt: '2027-01-04T00:00:00.000Z' });
    const late = '2026-12 is not closed, and should have been from 2027-01-04T00:00:00.000Z on';
    for (const form of ['table', 'html']) expect(await said('2026-12', form)).toContain(late);
    // Of which nothing is to be closed.
    const nothing =
      '2027-02 is not closed yet: these are its figures until now. With nothing moved in it, it is closed with';
    expect(await said('2027-02', 'table')).toContain(nothing);
  });

  it('shows a month in which nothing moved before one that is closed', async () => {
    expect(await json('2026-10')).toMatchObject({ status: 'none', opening: '0', closing: '0', movements: [] });
  });

  it('refuses a month that has not begun, and has nothing of one before the account', async () => {
    const ahead = {
      exitCode: EXIT.usage,
      message: '--month: 2027-04 has not begun; the newest month that has is 2027-03',
    };
    await expect(said('2027-04', 'table')).rejects.toMatchObject(ahead);
    expect(await said('2026-10', 'table')).toContain('Nothing is of 2026-10: the account was opened in 2026-11.');
    const log = new MemoryEventLog();
    const recording = { commandId: commandId('019a5b3c-1111-7000-8000-000000000000'), actor: 'operator' };
    log.write(STREAM, encodeEvents([opened], { ...recording, recordedAt: '2026-11-05T10:00:00.000Z' }));
    expect(await monthStatement(log, accountId('acme'), '2026-10')).toMatchObject({
      status: 'none',
      openedIn: '2026-11',
    });
    expect(await monthStatement(log, accountId('acme'), '2026-11')).toMatchObject({
      status: 'open',
      openedIn: '2026-11',
    });
  });

  it('has no formula in its CSV, and no markup of others in its page, which loads nothing', async () => {
    const csv = await said('2026-11', 'csv');
    expect(csv).toContain("'=HYPERLINK");
    expect(csv).not.toMatch(/(^|,|")=/m);
    expect(csv.slice(0, csv.indexOf('\r\n'))).toBe('account,month,status,kind,written down,what,model,lane,count,USD');
    expect(csv).toContain('acme,2026-11,closed,balance,,closing,,,,0.750000000000\r\n');
    expect((await said('2026-12', 'csv')).match(/^(?!acme,2026-12,open,|account,)./gm)).toBeNull();
    // Its words are those of the JSON.
    const balances = csv.split('\r\n').flatMap((line) => /,balance,,(\w+),/.exec(line)?.[1] ?? []);
    expect(balances).toEqual(['opening', ...INCREASES, ...DECREASES, 'closing']);
    // One form of each amount, whatever it is of.
    const amounts = csv.split('\r\n').flatMap((line) => /,(-?[\d.]+)$/.exec(line)?.[1] ?? []);
    expect(amounts.length).toBeGreaterThan(12);
    expect(amounts.filter((amount) => !/^-?\d+\.\d{12}$/.test(amount))).toEqual([]);
    // What was billed, and what of it is carried on, are what was debited.
    const used = csv.split('\r\n').filter((line) => line.startsWith('acme,2026-11,closed,usage,'));
    expect(used.reduce((sum, line) => sum + Number(line.split(',').at(-1)), 0)).toBeCloseTo(0.25, 12);
    expect(used.at(-1)).toMatch(/^acme,2026-11,closed,usage,,carried on to later debits,,,,-?0\.0+$/);
    expect(await said('2026-11', 'table')).toContain('carried on to later debits');
    const page = await said('2026-11', 'html');
    expect(page).toMatch(/carried on to later debits.*debited<.*0\.250000/s);
    expect(page).toMatch(/<td>granted<\/td><td[^>]*>1\.000000<.*<td>debited<\/td><td[^>]*>[−-]0\.250000</s);
    expect(page).toContain('Closed at 2026-12-04T00:00:00.000Z');
    expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
    expect(page).not.toMatch(/<img|<script|<link|https?:/);
    expect(await said('2026-12', 'html')).not.toContain('<b>goodwill');
  });

  it('has plots of what was debited by day and by model on its page, and what of each model was billed there and in the table', async () => {
    const page = await said('2026-11', 'html');
    const [, byDay = '', byModel = ''] = page.split('<figure>');
    const columns = [...byDay.matchAll(/<title>(.*?)<\/title><rect class="bar"[^>]* height="([\d.]+)"/g)];
    expect(columns).toHaveLength(30);
    expect(columns.filter(([, , height]) => Number(height) > 0).map(([, title]) => title)).toEqual(['5: 0.250000 USD']);
    const escaped = '=HYPERLINK(&#34;&#60;img src=x onerror=alert(1)&#62;&#34;)';
    expect(byModel).toContain(`<title>${escaped}</title>`);
    expect(byModel).toMatch(/<rect class="bar"[^>]*\/><text [^>]*>0\.250000 USD<\/text>/);
    const cells = ['<td>', escaped, '</td><td class="w">standard</td><td class="w">output</td>'];
    expect(page).toContain(`${cells.join('')}<td class="n">250,000</td><td class="n">0.250000000000</td>`);
    expect(stripVTControlCharacters(await said('2026-11', 'table'))).toMatch(
      /=HYPERLINK.* standard .* output .* 250,?000 .* 0\.250000(000000)?$/m,
    );
  });

  it('shows a month that is closed behind another one without what that one has counted', async () => {
    closeDecember();
    expect(await json('2026-12')).toMatchObject({
      ...{ status: 'closed', opening: '750000', closing: '748998' },
      sums: { granted: '5', debited: '1000', adjustedDown: '7' },
    });
    expect(await json('2026-11')).toMatchObject({ status: 'closed', opening: '0', closing: '750000' });
  });

  it('shows payments and refunds, suspensions and what is never debited in the month in which they were written down', async () => {
    payInMarch();
    const { movements, sums } = await json('2027-03');
    expect(
      movements.map(({ what, amount }: { what: string; amount: string | null }) => [what.split(' (')[0], amount]),
    ).toEqual([
      ['x began to buy 0.000020 USD of credits for 0.000020 USD at manual', null],
      ['0.000020 USD paid at manual at 2027-03-02 10:00:00', null],
      ['purchased credits granted', '20'],
      ['0.000005 USD of T1 refunded', null],
      ['operator revoked credits of payment_T1', '-5'],
      ['suspended by operator: =2+2 <b>card</b>', null],
      ['suspension ended by operator: paid', null],
      [expect.stringMatching(/reported late: 0\.000000 USD wait for an operator's decision/), null],
      [expect.stringMatching(/^ops dropped 0\.000000 USD for good, never to be debited: not theirs/), null],
    ]);
    expect(sums).toMatchObject({ granted: '20', revoked: '5' });
    const csv = await said('2027-03', 'csv');
    expect(csv).toMatch(
      /^acme,2027-03,open,note,2027-03-02T10:00:00\.000Z,suspended by operator: =2\+2 <b>card<\/b>,,,,\r$/m,
    );
    expect(csv).toMatch(
      /^acme,2027-03,open,revoked,2027-03-02T10:00:00\.000Z,"operator revoked .*,-0\.000005000000\r$/m,
    );
    // What moved the balance has the kind of its figure, which those of a kind together are.
    const rows = csv.split('\r\n').map((row) => row.split(','));
    for (const figure of ['granted', 'revoked']) {
      const [balance] = rows.filter((row) => row[3] === 'balance' && row[5] === figure);
      expect(rows.filter((row) => row[3] === figure).map((row) => row.at(-1))).toEqual([balance?.at(-1)]);
    }
    const line = /suspended by operator: =2\+2 <b>card<\/b>(.*)$/m.exec(
      stripVTControlCharacters(await said('2027-03', 'table')),
    );
    expect(line?.[1]).toMatch(/^[^\d]*$/);
    expect(await said('2027-03', 'html')).toContain(
      'suspended by operator: =2+2 &#60;b&#62;card&#60;/b&#62;</td><td></td>',
    );
    expect((await json('2027-02')).movements).toEqual([]);
  });

  it('shows a purchase that was begun, and that nothing was paid for it', async () => {
    const { run, json: jsonOf, clock } = endedLater(await programInProcess());
    await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
    await run('credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'order_1');
    await run('payment', 'decline', 'acct_ada', 'order_1', '--reason', 'not wanted');
    const month = new Date(clock()).toISOString().slice(0, 7);
    const { movements } = await jsonOf('account', 'statement', 'acct_ada', '--month', month);
    expect((movements as { what: string; amount: unknown }[]).map(({ what, amount }) => [what, amount])).toEqual([
      [
        expect.stringMatching(/ began to buy 20\.000000 USD of credits for 20\.000000 USD at manual \(order_1\)$/),
        null,
      ],
      [expect.stringMatching(/^nothing was paid, ended by .*: not wanted \(order_1\)$/), null],
    ]);
  });

  it('has of a month that is not closed what has ended in it by then and is not written down, in each form', async () => {
    const own = endedLater(await programInProcess());
    own.clock = () => ms('2026-11-05T10:00:00.000Z');
    await own.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
    await own.run('credits', 'grant', 'acct_ada', '--usd', '12', '--expires', '2026-12-20T00:00:00Z');
    const of = (format: string, month = '2026-12') =>
      own.run('account', 'statement', 'acct_ada', '--month', month, '--format', format);
    const before = ms('2026-12-20T00:00:00.000Z') - 1;
    own.clock = () => before;
    expect(JSON.parse(await of('json'))).toMatchObject({ ended: '0' });
    expect(await of('table')).toContain('With nothing moved in it');
    own.clock = () => before + 1;
    expect(JSON.parse(await of('json'))).toMatchObject({ status: 'open', closing: '12000000', ended: '12000000' });
    expect(JSON.parse(await of('json', '2026-11'))).toMatchObject({ status: 'open', ended: '0' });
    const over = '12.000000 USD of credits have ended in it, and are not written down as expired yet.';
    for (const form of ['table', 'html'])
      expect(await of(form)).toContain(`figures until now. ${over} A gateway that runs closes it from 2027-01-04`);
    expect(await of('csv')).toContain('acct_ada,2026-12,open,balance,,ended,,,,12.000000000000\r\n');
    own.clock = () => ms('2027-01-05T00:00:00.001Z');
    expect(await of('table')).toContain(
      `should have been from 2027-01-04T00:00:00.000Z on: these are its figures until now. ${over}`,
    );
  });

  it('has of a month that is not closed what has ended before it, too, while that is not written down, in each form', async () => {
    const own = endedLater(await programInProcess());
    own.clock = () => ms('2026-10-20T10:00:00.000Z');
    await own.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '5');
    await own.run('credits', 'grant', 'acct_ada', '--usd', '3', '--expires', '2026-12-01T00:00:00Z');
    await own.run('credits', 'grant', 'acct_ada', '--usd', '1', '--expires', '2026-12-25T00:00:00Z');
    own.clock = () => ms('2026-12-02T10:00:00.000Z');
    const of = (format: string, month = '2026-12') =>
      own.run('account', 'statement', 'acct_ada', '--month', month, '--format', format);
    const figures = { status: 'open', opening: '9000000', closing: '9000000' };
    expect(JSON.parse(await of('json'))).toMatchObject({ ...figures, ended: '8000000', endedBefore: '5000000' });
    expect(JSON.parse(await of('json', '2026-11'))).toMatchObject({ ...figures, ended: '5000000', endedBefore: '0' });
    expect(JSON.parse(await of('json', '2026-10'))).toMatchObject({ ended: '0', endedBefore: '0' });
    const over = 'USD of credits have ended';
    for (const form of ['table', 'html']) {
      expect(await of(form)).toContain(
        `8.000000 ${over} by its end, 5.000000 of them before it, and are not written down as expired yet. A gateway`,
      );
      expect(await of(form, '2026-11')).toContain(`5.000000 ${over} in it, and`);
    }
    expect((await of('csv')).match(/^acct_ada,2026-12,open,balance,,ended.*/gm)).toEqual([
      'acct_ada,2026-12,open,balance,,ended,,,,8.000000000000',
      'acct_ada,2026-12,open,balance,,endedBefore,,,,5.000000000000',
    ]);
    const trial = endedLater(await programInProcess());
    trial.clock = () => ms('2026-10-20T10:00:00.000Z');
    await trial.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '5');
    trial.clock = own.clock;
    expect(await trial.run('account', 'statement', 'acct_ada', '--month', '2026-12')).toContain(
      `5.000000 ${over} before it, and are not written down as expired yet. With nothing moved in it`,
    );
  });

  it('has every line in CSV and JSON, and in the table and the page as many as those hold, with how many more there are', async () => {
    const log = new MemoryEventLog();
    const recording = { commandId: commandId('019a5b3c-1111-7000-8000-000000000000'), actor: 'operator' };
    const changes = Array.from(
      { length: 5_003 },
      (_, at): AccountEvent => ({
        ...{ type: at % 2 === 0 ? 'AccountSuspended' : 'AccountReinstated', data: { reason: `line ${at + 1}` } },
      }),
    );
    log.write(STREAM, encodeEvents([opened, ...changes], { ...recording, recordedAt: '2026-11-05T10:00:00.000Z' }));
    const { run } = endedLater(await programInProcess(log));
    const of = (format: string) => run('account', 'statement', 'acme', '--month', '2026-11', '--format', format);
    expect((await of('csv')).match(/^acme,2026-11,open,note,/gm)).toHaveLength(5_003);
    expect(JSON.parse(await of('json'))).toMatchObject({ movementsLeftOut: 0, movements: { length: 5_003 } });
    expect(await run('account', 'statement', 'acme', '--month', '2026-11', '--json')).toContain('line 5003');
    for (const format of ['table', 'html']) {
      const text = await of(format);
      expect(text).toContain('line 5000');
      expect(text).not.toContain('line 5001');
      expect(text).toContain('Not shown here: 3 more');
    }
  });

  it('is of one account, and of none that there is not', async () => {
    await expect(program.run('account', 'statement', 'none', '--month', '2026-11')).rejects.toMatchObject({
      exitCode: EXIT.refused,
    });
  });
});
