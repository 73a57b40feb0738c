import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { Bookkeeper } from '../../../ledger/postings/bookkeeper.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { keyIssued, lifeWith, ms, openAccount, opened, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { storedLife } from '../statement/stored-life.ts';

/** What a provider tells of money that went back, and did not: without a reason, by the gateway, in any order. */

const NOW = ms('2026-11-20T10:00:00.000Z');
const PAYMENT = paymentId('pi_1');
const TOLD = { actor: 'payments', nowMs: NOW };
const BY_HAND = { actor: 'operator', reason: 'by hand', nowMs: NOW };
const TWENTY = { attemptId: attemptId('purchase_1'), provider: 'stripe', amount: usd(20), nowMs: NOW };

function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) life.push(...given(...life).decided(command));
  return life;
}
const refund = (amount: number, change: Partial<CommandOf<'RecordRefund'>> = {}): AccountCommand => ({
  ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: `re_${amount}`, amount: usd(amount), refundedAtMs: NOW },
  ...{ ...TOLD, ...change },
});
const failed = (amount: number, change: Partial<CommandOf<'WithdrawRefund'>> = {}): AccountCommand => ({
  ...{ type: 'WithdrawRefund', paymentId: PAYMENT, refundId: `re_${amount}`, ...TOLD, ...change },
});
const dispute = (amount: number, change: Partial<CommandOf<'RecordDispute'>> = {}): AccountCommand => ({
  ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId: 'dp_1', amount: usd(amount), openedAtMs: NOW, ...TOLD },
  ...change,
});
const close = (
  outcome: 'won' | 'lost',
  stood: 'won' | 'lost' | null = null,
  change: Partial<CommandOf<'CloseDispute'>> = {},
): AccountCommand => ({
  ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId: 'dp_1', outcome, stood, closedAtMs: NOW, ...TOLD },
  ...change,
});
const revoke = (revocationId: string, amount: number): AccountCommand => ({
  ...{ type: 'RevokeGrant', revocationId, grantId: grantId('payment_pi_1'), amount: usd(amount) },
  ...{ cause: 'administration', paymentId: null, ...BY_HAND },
});
const restore = (revocationId: string, amount: number): AccountCommand => ({
  ...{ type: 'RestoreGrant', restorationId: 'back', revocationId, amount: usd(amount), ...BY_HAND },
});
/** What there is, what is owed, and what money there is by the books; the audit has nothing to say. */
function stands(life: readonly AccountEvent[]) {
  expect(faultsOf(life)).toEqual([]);
  const { balance, uncovered } = openAccount(life);
  const bookkeeper = new Bookkeeper();
  let money = 0n;
  for (const recorded of storedLife(life))
    for (const { account, microUsd } of bookkeeper.book(recorded)?.postings ?? [])
      if (account.startsWith('Assets:Clearing') || account.startsWith('Assets:Disputes')) money += microUsd;
  return { balance, owed: uncovered, money };
}
const paid = lived(
  [opened, keyIssued()],
  { type: 'StartPurchase', price: usd(20), by: 'x', ...TWENTY },
  { type: 'RecordPayment', paymentId: PAYMENT, paidAtMs: NOW, ...TWENTY },
);
const PAID = { balance: 20n, owed: 0n, money: 20n };

describe('a refund that its provider says has failed', () => {
  test('is withdrawn by the gateway: what it took comes back, and the books turn', () => {
    const back = lived(lived(paid, refund(12)), failed(12)).slice(-2);
    expect(back).toMatchObject([
      { type: 'RefundWithdrawn', data: { refundId: 're_12', amount: usd(12), reason: 'it has failed' } },
      {
        type: 'GrantRestored',
        data: { restorationId: 're_12_withdrawn', amount: usd(12), actor: 'payments' },
      },
    ]);
    expect(back[1]).toMatchObject({ data: { reason: 'refund re_12 was withdrawn, as stripe tells' } });
    expect(stands([...lived(paid, refund(12)), ...back])).toEqual(PAID);
  });

  test.each([
    ['all is spent: it was owed', lifeWith(paid, usageOf(1, 20)), { balance: 0n, owed: 0n, money: 20n }],
    ['a part is spent', lifeWith(paid, usageOf(1, 15)), { balance: 5n, owed: 0n, money: 20n }],
    [
      'a dispute that is lost had all of it',
      lived(paid, dispute(20), close('lost')),
      { balance: 0n, owed: 0n, money: 0n },
    ],
  ])('leaves what was before it where %s', (_, before, stood) => {
    expect(stands(before)).toEqual(stood);
    const refunded = lived(before, refund(20));
    expect(stands(refunded).money).toBe(stood.money - 20n);
    expect(stands(lived(refunded, failed(20)))).toEqual(stood);
  });

  test('that took nothing is withdrawn all the same, and what was kept of the money is there once that comes back', () => {
    const both = lived(paid, dispute(20), refund(20));
    expect(both.at(-1)).toMatchObject({ type: 'PaymentRefunded' });
    const back = lived(both, failed(20));
    expect(back.slice(both.length)).toMatchObject([{ type: 'RefundWithdrawn' }]);
    expect(stands(back)).toEqual({ balance: 0n, owed: 0n, money: 0n });
    expect(stands(lived(back, close('won')))).toEqual(PAID);
    expect(stands(lived(both, close('won'), failed(20)))).toEqual(PAID);
    expect(stands(lived(back, refund(20, { refundId: 're_2' }))).money).toBe(-20n);
  });

  test('counts once, also where it is told before the refund, or an operator has given its credits back', () => {
    const before = lived(paid, failed(12));
    expect(before).toEqual(paid);
    const refunded = lived(paid, refund(12));
    const once = lived(refunded, failed(12));
    expect(lived(once, failed(12))).toEqual(once);
    for (const amount of [5, 12]) expect(stands(lived(refunded, restore('re_12', amount), failed(12)))).toEqual(PAID);
    // Its provider was asked before it failed.
    given(...once).refuses(refund(12), 'told_meanwhile', /^re_12 was told otherwise meanwhile/);
    expect(stands(lived(once, refund(20)))).toEqual({ balance: 0n, owed: 0n, money: 0n });
  });

  test('is of a provider alone: by hand it says why', () => {
    const byHand = lived(
      [opened],
      { type: 'StartPurchase', price: usd(20), by: 'x', ...TWENTY, provider: 'manual' },
      { type: 'RecordPayment', paymentId: PAYMENT, paidAtMs: NOW, ...TWENTY, provider: 'manual' },
      refund(12, BY_HAND),
    );
    given(...byHand).refuses(failed(12), 'reason_missing');
    given(...paid).refuses(failed(12, { reason: 'x' }), 'refund_not_found');
  });
});

describe('a refund that was withdrawn by hand, and was made as its provider tells', () => {
  const withdrawn = lived(paid, refund(12, BY_HAND), failed(12, BY_HAND));
  const told = refund(12, { stood: 're_12' });

  test('is written down, under another id, by an answer that was asked for since', () => {
    given(...withdrawn).refuses(refund(12), 'told_meanwhile');
    given(...withdrawn).refuses(refund(12, BY_HAND), 'id_reused', /was withdrawn/);
    const again = lived(withdrawn, told);
    expect(again.slice(withdrawn.length)).toMatchObject([
      { type: 'PaymentRefunded', data: { refundId: 're_12_again', amount: usd(12), reason: null } },
      { type: 'GrantRevoked', data: { revocationId: 're_12_again', amount: usd(12) } },
    ]);
    expect(stands(again)).toEqual({ balance: 8n, owed: 0n, money: 8n });
    expect(lived(again, told, refund(12))).toEqual(again);
    given(...again).refuses(refund(12, { amount: usd(11) }), 'id_reused');
    expect(stands(lived(again, refund(8)))).toEqual({ balance: 0n, owed: 0n, money: 0n });
    given(...again).refuses(refund(9), 'invalid_amount');
  });

  test('may fail then, and is told as the provider calls it', () => {
    const again = lived(withdrawn, told);
    const back = lived(again, failed(12));
    expect(back[again.length]).toMatchObject({ type: 'RefundWithdrawn', data: { refundId: 're_12_again' } });
    expect(stands(back)).toEqual(PAID);
    given(...back).refuses(told, 'told_meanwhile');
    expect(lived(back, failed(12))).toEqual(back);
    const third = lived(back, refund(12, { stood: 're_12_again' }));
    expect(third[back.length]).toMatchObject({ data: { refundId: 're_12_again_2' } });
    expect(stands(third).balance).toBe(8n);
  });
});

test('how a dispute ended is replaced by an answer alone that was asked for after that stood here', () => {
  const won = lived(paid, dispute(12), close('won'));
  given(...won).refuses(close('lost'), 'told_meanwhile', /^dp_1 was told otherwise meanwhile/);
  given(...won).refuses(close('lost', 'lost'), 'told_meanwhile');
  given(...won).decides(close('won'));
  const lost = lived(won, close('lost', 'won'));
  expect(stands(lost)).toEqual({ balance: 8n, owed: 0n, money: 8n });
  expect(stands(lived(lost, close('won', 'lost')))).toEqual(PAID);
});

describe('what a provider tells under an id that stands, or stood, for something else in the account', () => {
  const [OTHER, SECOND] = [{ paymentId: paymentId('pi_2') }, { attemptId: attemptId('purchase_2') }];
  const both = lived(
    paid,
    { type: 'StartPurchase', price: usd(20), by: 'x', ...TWENTY, ...SECOND },
    { type: 'RecordPayment', paidAtMs: NOW, ...TWENTY, ...SECOND, ...OTHER },
  );
  /** That is given, and of the other payment 12 USD of theirs are told. */
  test.each<[string, AccountCommand[], bigint]>([
    ['revoked by hand', [revoke('x', 5)], 23n],
    ['revoked, and restored', [revoke('x', 5), restore('x', 5)], 28n],
    ['a refund', [refund(5, { refundId: 'x' })], 23n],
    [
      'a refund that is withdrawn',
      [refund(5, { refundId: 'x', ...BY_HAND }), failed(5, { refundId: 'x', ...BY_HAND })],
      28n,
    ],
    ['a dispute', [dispute(5, { disputeId: 'x' })], 23n],
    ['a dispute that was won', [dispute(5, { disputeId: 'x' }), close('won', null, { disputeId: 'x' })], 28n],
  ])('is written down once, under another, where that is %s', (_, commands, balance) => {
    const before = lived(both, ...commands);
    const took = { revocationId: 'x_again', grantId: 'payment_pi_2', amount: usd(12) };
    for (const [told, ended] of [
      [refund(12, { ...OTHER, refundId: 'x' }), failed(12, { ...OTHER, refundId: 'x' })],
      [dispute(12, { ...OTHER, disputeId: 'x' }), close('won', null, { ...OTHER, disputeId: 'x' })],
    ] as const) {
      const again = lived(before, told);
      expect(again.slice(before.length)).toMatchObject([
        { data: { ...OTHER, [told.type === 'RecordRefund' ? 'refundId' : 'disputeId']: 'x_again' } },
        { type: 'GrantRevoked', data: took },
      ]);
      expect(stands(again).balance).toBe(balance);
      expect(lived(again, told)).toEqual(again);
      expect(stands(lived(again, ended)).balance).toBe(balance + 12n);
      given(...before).refuses({ ...told, reason: 'x' } as AccountCommand, 'id_reused', /^id: x is that of another/);
    }
  });

  test('is numbered where that is taken, too, and each is found by its own payment and kind', () => {
    const refunded = lived(both, revoke('x', 5), revoke('x_again', 1));
    const told = [
      refund(2, { refundId: 'x' }),
      refund(3, { refundId: 'x', ...OTHER }),
      dispute(4, { disputeId: 'x', ...OTHER }),
    ];
    const again = lived(refunded, ...told);
    const taken = again.flatMap(({ type, data }) => (type === 'GrantRevoked' ? [data.revocationId] : []));
    expect(taken).toEqual(['x', 'x_again', 'x_again_2', 'x_again_3', 'x_again_4']);
    expect(lived(again, ...told)).toEqual(again);
    expect(stands(again).balance).toBe(25n);
  });

  test('is its own where nothing else has it, whatever is called as it would be', () => {
    const typed = lived(paid, refund(1, { refundId: 'x_again', ...BY_HAND }));
    const told = lived(typed, refund(2, { refundId: 'x' }));
    expect(told.at(-1)).toMatchObject({ data: { revocationId: 'x' } });
    expect(lived(told, refund(2, { refundId: 'x' }))).toEqual(told);
    expect(stands(told).balance).toBe(17n);
  });
});

describe('a dispute that was written down by hand with another amount than its provider tells', () => {
  const typed = lived(paid, dispute(4, BY_HAND));
  const won = lived(typed, close('won', null, BY_HAND));
  const told = dispute(20, { stood: 'dp_1' });

  test('is told anew once it was won, under another id, by an answer that was asked for since', () => {
    given(...typed).refuses(told, 'id_reused', /^id: dp_1 is about/);
    given(...won).refuses(dispute(20), 'told_meanwhile');
    given(...won).refuses(dispute(20, BY_HAND), 'id_reused');
    given(...won).decides(dispute(4));
    const again = lived(won, told);
    expect(again.slice(won.length)).toMatchObject([
      { type: 'PaymentDisputed', data: { disputeId: 'dp_1_again', amount: usd(20) } },
      { type: 'GrantRevoked', data: { revocationId: 'dp_1_again', amount: usd(20) } },
    ]);
    expect(lived(again, told, dispute(20))).toEqual(again);
    expect(stands(again)).toEqual({ balance: 0n, owed: 0n, money: 0n });
  });

  test('ends then as its provider calls it, also otherwise than before', () => {
    const again = lived(won, told);
    const lost = lived(again, close('lost'));
    expect(lost[again.length]).toMatchObject({ data: { disputeId: 'dp_1_again', outcome: 'lost' } });
    expect(stands(lost).balance).toBe(0n);
    const back = lived(lost, close('won', 'lost'));
    expect(stands(back)).toEqual(PAID);
    const after = lived(back, close('lost', 'won'));
    expect(after.at(-1)).toMatchObject({ data: { revocationId: 'dp_1_again_lost', amount: usd(20) } });
    expect(stands(after).balance).toBe(0n);
    expect(lived(back, dispute(20))).toEqual(back);
  });
});

test('the audit tells of what a provider tells again while it stands', () => {
  const named = (life: readonly AccountEvent[], id: string): string[] =>
    faultsOf(life, (event) => JSON.parse(JSON.stringify(event).replaceAll('"named"', `"${id}"`)));
  const refunded = lived(paid, refund(5), refund(4, { refundId: 'named' }));
  expect(named(refunded, 're_5_again')).toEqual([expect.stringMatching(/re_5_again: told again, and re_5 stands$/)]);
  expect(named(lived(paid, refund(5), failed(5), refund(4, { refundId: 'named' })), 're_5_again')).toEqual([]);
  const disputed = lived(paid, dispute(5), dispute(4, { disputeId: 'named' }));
  expect(named(disputed, 'dp_1_again_2')).toEqual([
    expect.stringMatching(/dp_1_again_2: told again, and dp_1 stands$/),
  ]);
  const byHand = lived(paid, refund(5, BY_HAND), refund(4, { refundId: 'named', ...BY_HAND }));
  expect(named(byHand, 're_5_again')).toEqual([]);
});

describe('what its credits were revoked by hand for, as was done once', () => {
  const byHand = (id: string, amount: number, cause: 'refund' | 'dispute' = 'refund'): AccountEvent[] =>
    lived(paid, revoke(id, amount)).map((event) =>
      event.type === 'GrantRevoked' ? { ...event, data: { ...event.data, cause, paymentId: PAYMENT } } : event,
    );
  const ID = 'revocation_payment_pi_1';

  test.each([
    ['refund', 're_5'],
    ['dispute', 're_5'],
    ['refund', ID],
    ['dispute', ID],
  ] as const)('a %s, under %s, takes them no second time: they are restored first', (cause, id) => {
    const before = byHand(id, 5, cause);
    const told = cause === 'refund' ? refund(5) : dispute(5, { disputeId: 're_5' });
    given(...before).refuses(
      told,
      'id_reused',
      new RegExp(`were revoked by hand, under ${id}: once .credits restore.`),
    );
    given(...lived(before, restore(id, 4))).refuses(told, 'id_reused');
    const then = lived(before, restore(id, 5), told);
    expect(stands(then)).toEqual({ balance: 15n, owed: 0n, money: 15n });
    expect(lived(then, told)).toEqual(then);
  });

  test('several refunds, or some of them, are all written down once they are restored, and each takes its own', () => {
    for (const [id, amount] of [
      [ID, 5],
      [ID, 20],
      ['re_8', 20],
    ] as const) {
      const before = byHand(id, amount);
      const both = [refund(5), refund(8)];
      for (const told of [...both, dispute(20), { ...refund(5), ...BY_HAND } as AccountCommand])
        given(...before).refuses(told, 'id_reused', /revoked by hand/);
      expect(stands(lived(before, restore(id, amount), ...both))).toEqual({ balance: 7n, owed: 0n, money: 7n });
    }
  });

  test('is none that a refund or a dispute has taken by itself, also lost again, nor of another payment', () => {
    const lost = lived(paid, dispute(5), close('won'), close('lost', 'won'), refund(4));
    expect(stands(lived(lost, refund(3)))).toEqual({ balance: 8n, owed: 0n, money: 8n });
    const [OTHER, SECOND] = [{ paymentId: paymentId('pi_2') }, { attemptId: attemptId('purchase_2') }];
    const both = lived(
      byHand(ID, 5),
      { type: 'StartPurchase', price: usd(20), by: 'x', ...TWENTY, ...SECOND },
      { type: 'RecordPayment', paidAtMs: NOW, ...TWENTY, ...SECOND, ...OTHER },
    );
    expect(stands(lived(both, refund(3, OTHER))).balance).toBe(32n);
  });
});
