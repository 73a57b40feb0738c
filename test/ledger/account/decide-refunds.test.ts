import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { keyIssued, lifeWith, ms, openAccount, opened, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { restoredAs } from './restored-as.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const [ATTEMPT, PAYMENT] = [attemptId('purchase_1'), paymentId('pi_1')];
const SAID = { actor: 'operator', nowMs: NOW };
/** Of a provider, whose word is what has happened. */
const start: AccountCommand = {
  ...{ type: 'StartPurchase', attemptId: ATTEMPT, provider: 'stripe', amount: usd(20), price: usd(20), by: 'x' },
  nowMs: NOW,
};
const pay: AccountCommand = {
  ...{ type: 'RecordPayment', attemptId: ATTEMPT, provider: 'stripe', paymentId: PAYMENT, amount: usd(20) },
  ...{ paidAtMs: NOW, nowMs: NOW },
};
/** Commands one after another. */
function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) life.push(...given(...life).decided(command));
  return life;
}
const after = (...commands: readonly AccountCommand[]): AccountEvent[] => lived([opened, keyIssued()], ...commands);
const refund = (amount: number, change: Partial<CommandOf<'RecordRefund'>> = {}): AccountCommand => ({
  ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: `re_${amount}`, amount: usd(amount), refundedAtMs: NOW },
  ...{ ...SAID, ...change },
});
const dispute = (amount: number, change: Partial<CommandOf<'RecordDispute'>> = {}): AccountCommand => ({
  ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId: 'dp_1', amount: usd(amount), openedAtMs: NOW },
  ...{ ...SAID, ...change },
});
const close = (outcome: 'won' | 'lost', change: Partial<CommandOf<'CloseDispute'>> = {}): AccountCommand => ({
  ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId: 'dp_1', outcome, closedAtMs: NOW },
  ...{ ...SAID, ...change },
});
/** Of what a provider tells nobody says why. */
const byHand = (command: AccountCommand): AccountCommand =>
  ({ ...command, reason: 'the bank says so' }) as AccountCommand;
const balanceOf = (life: readonly AccountEvent[]): bigint => {
  expect(faultsOf(life)).toEqual([]);
  return openAccount(life).balance;
};
const paid = after(start, pay);
const spent = lifeWith(paid, usageOf(1, 15));
const BY_HAND = { provider: 'manual' };
const paidByHand = after({ ...start, ...BY_HAND } as AccountCommand, { ...pay, ...BY_HAND } as AccountCommand);

test('money that goes back by hand says why, as each correction does; what a provider tells is its own', () => {
  const none = { reason: ' ' };
  const disputed = lived(paidByHand, byHand(dispute(20)));
  for (const without of [refund(12, none), dispute(20, none)])
    given(...paidByHand).refuses(without, 'reason_missing', /^reason: /);
  given(...disputed).refuses(close('lost', none), 'reason_missing', /^reason: /);
  given(...lived(disputed, byHand(close('lost')))).refuses(close('lost', none), 'reason_missing', /^reason: /);
  given(...paidByHand).refuses(refund(12), 'reason_missing', /^reason: /);
  given(...paid).refuses(refund(12, none), 'reason_missing', /^reason: /);
  expect(given(...paidByHand).decided(byHand(refund(12)))).toMatchObject([
    { type: 'PaymentRefunded', data: { reason: 'the bank says so' } },
    { type: 'GrantRevoked', data: { reason: 'refund re_12: the bank says so', actor: 'operator' } },
  ]);
  expect(given(...disputed).decided(byHand(close('won')))).toMatchObject([
    { type: 'DisputeClosed', data: { reason: 'the bank says so' } },
    { type: 'GrantRestored', data: { reason: 'dispute dp_1 was won: the bank says so' } },
  ]);
  expect(given(...paid).decided(refund(12))).toMatchObject([
    { type: 'PaymentRefunded', data: { reason: null } },
    { type: 'GrantRevoked', data: { reason: 'refund re_12, as stripe tells' } },
  ]);
});

describe('a refund', () => {
  test('lowers the balance by exactly itself: first what is left of its grant, the rest is owed', () => {
    const life = [...spent, ...given(...spent).decided(refund(12))];
    expect(balanceOf(life)).toBe(-7n);
    expect(openAccount(life)).toMatchObject({ uncovered: 7n, grants: [{ remaining: 0n }] });
    expect(balanceOf([...paid, ...given(...paid).decided(refund(12))])).toBe(8n);
  });

  test('counts once, and refunds of a payment are no more than was paid', () => {
    const life = [...paid, ...given(...paid).decided(refund(12))];
    given(...life).decides(refund(12));
    given(...life).refuses(refund(12, { amount: usd(11) }), 'id_reused');
    given(...life).refuses(refund(9), 'invalid_amount', /20\.00|0\.00002/);
    expect(balanceOf([...life, ...given(...life).decided(refund(8))])).toBe(0n);
    given(...paid).refuses(refund(0), 'invalid_amount');
    given(opened).refuses(refund(1), 'payment_not_found');
  });

  test('of a part of a discounted price takes the same part of its credits, and all parts all of them', () => {
    const discounted = after(
      { ...start, amount: usd(20), price: usd(7) } as AccountCommand,
      { ...pay, amount: usd(7) } as AccountCommand,
    );
    let life = discounted;
    for (const [part, left] of [
      [1, 18n],
      [2, 12n],
      [4, 0n],
    ] as const) {
      life = [...life, ...given(...life).decided(refund(part))];
      expect(balanceOf(life)).toBe(left);
    }
  });
});

describe('a dispute', () => {
  test('takes its part, gives it back where it is won, and not where it is lost', () => {
    const open = [...spent, ...given(...spent).decided(dispute(20))];
    expect(balanceOf(open)).toBe(-15n);
    const won = [...open, ...given(...open).decided(close('won'))];
    expect(balanceOf(won)).toBe(5n);
    const lost = [...open, ...given(...open).decided(close('lost'))];
    expect(balanceOf(lost)).toBe(-15n);
    given(...open).decides(dispute(20));
    given(...won).decides(close('won'));
    given(...open).refuses(dispute(19), 'id_reused');
    given(...paid).refuses(close('won'), 'dispute_not_found');
    given(opened).refuses(dispute(1), 'payment_not_found');
    given(...paid).refuses(dispute(0), 'invalid_amount');
    given(...paid).refuses(dispute(21), 'invalid_amount', /at most 0\.00002/);
  });

  test('after a refund takes what is left of its credits, and no more', () => {
    const refunded = [...paid, ...given(...paid).decided(refund(15))];
    const disputed = [...refunded, ...given(...refunded).decided(dispute(20))];
    expect(balanceOf(disputed)).toBe(0n);
    const again = [...disputed, ...given(...disputed).decided(refund(5))];
    expect(balanceOf(again)).toBe(0n);
    // Refunds have paid all of it back.
    expect(balanceOf([...again, ...given(...again).decided(close('won'))])).toBe(0n);
    expect(balanceOf([...disputed, ...given(...disputed).decided(close('won'))])).toBe(5n);
  });

  test('gives back, won, what is paid for still: what was refunded meanwhile found nothing to take', () => {
    const refunded = lived(paid, dispute(20), refund(8));
    expect(balanceOf(refunded)).toBe(0n);
    expect(balanceOf(lived(refunded, close('won')))).toBe(12n);
    expect(balanceOf(lived(refunded, close('lost')))).toBe(0n);
  });

  test('of two of one payment the one that was lost keeps what the other took, until both are won', () => {
    const other = { disputeId: 'dp_2' };
    const both = lived(paid, dispute(20), dispute(20, other), close('won'));
    expect(balanceOf(both)).toBe(0n);
    expect(balanceOf(lived(both, close('lost', other)))).toBe(0n);
    expect(balanceOf(lived(both, close('won', other)))).toBe(20n);
  });

  test.each([
    ['both won', 'won', 'won', 20n],
    ['the first lost', 'lost', 'won', 12n],
    ['the other lost', 'won', 'lost', 8n],
    ['both lost', 'lost', 'lost', 0n],
  ] as const)('two of one payment, %s, in any order leave what was kept', (_how, first, second, left) => {
    const other = { disputeId: 'dp_2' };
    const [open, openOther] = [dispute(8), dispute(12, other)];
    const [end, endOther] = [close(first), close(second, other)];
    for (const order of [
      [open, openOther, end, endOther],
      [open, openOther, endOther, end],
      [openOther, open, end, endOther],
      [openOther, open, endOther, end],
      [open, end, openOther, endOther],
      [openOther, endOther, open, end],
    ]) {
      const life = lived(paid, ...order);
      expect([balanceOf(life), faultsOf(life)]).toEqual([left, []]);
    }
  });

  test('one about more than was left gives back, won, what was kept of another that was won before', () => {
    const other = { disputeId: 'dp_2' };
    const life = lived(paid, dispute(8), dispute(20, other), close('won'), close('won', other));
    expect(life.slice(-3)).toMatchObject([
      { type: 'DisputeClosed', data: { disputeId: 'dp_2' } },
      { type: 'GrantRestored', data: { restorationId: 'dp_2_won', revocationId: 'dp_2', amount: usd(12) } },
      { type: 'GrantRestored', data: { restorationId: 'dp_2_won_2', revocationId: 'dp_1', amount: usd(8) } },
    ]);
    expect([balanceOf(life), faultsOf(life)]).toEqual([20n, []]);
    expect(faultsOf(life.slice(0, -1))).toContainEqual(expect.stringMatching(/dp_2: won, and not restored$/));
    // Of both no more than what is paid for.
    const refunded = lived(paid, dispute(8), dispute(20, other), close('won'), refund(5), close('won', other));
    expect(balanceOf(refunded)).toBe(15n);
  });

  test('keeps what was revoked by hand, and what was revoked by hand is not given back without its money', () => {
    const revoke: AccountCommand = {
      ...{ type: 'RevokeGrant', revocationId: 'by_hand', grantId: grantId('payment_pi_1'), amount: usd(15) },
      ...{ cause: 'administration', paymentId: null, reason: 'by hand', ...SAID },
    };
    const restore = (amount: number | null): AccountCommand => ({
      ...{ type: 'RestoreGrant', restorationId: `back_${amount}`, revocationId: 'by_hand' },
      ...{ amount: amount === null ? null : usd(amount), reason: 'back', ...SAID },
    });
    const disputed = lived(paid, revoke, dispute(20));
    expect(balanceOf(lived(disputed, close('won')))).toBe(5n);
    const refunded = lived(paid, revoke, refund(12));
    expect(balanceOf(refunded)).toBe(0n);
    given(...refunded).refuses(restore(9), 'invalid_amount', /8\.00|0\.000008/);
    expect(balanceOf(lived(refunded, restore(null)))).toBe(8n);
    given(...lived(refunded, refund(8))).refuses(restore(null), 'invalid_amount', /the money of the rest went back/);
  });
});

describe('what is written down by hand goes back once', () => {
  const other = { disputeId: 'dp_2' };

  test.each([
    ['of what was paid by hand', paidByHand],
    ['of a provider that is configured no more', paid],
  ])(
    'a dispute %s is of no more than what was paid, less what went back and what other disputes have',
    (_of, begun) => {
      for (const [before, most] of [
        [[], 20],
        [[refund(15)], 5],
        [[dispute(15, other)], 5],
        [[dispute(15, other), close('lost', other)], 5],
        [[dispute(15, other), close('won', other)], 20],
        [[refund(5), dispute(5, other)], 10],
      ] as const) {
        const life = lived(begun, ...before.map(byHand));
        const tooMuch = byHand(dispute(most + 1));
        given(...life).refuses(tooMuch, 'invalid_amount', new RegExp(`at most ${groupedUsd(usd(most))} USD$`));
        balanceOf(lived(life, byHand(dispute(most))));
        given(...lived(life, byHand(dispute(most)))).decides(byHand(dispute(most)));
      }
    },
  );

  test.each([
    ['of what was paid by hand', paidByHand],
    ['of a provider that is configured no more', paid],
  ])('a refund %s takes nothing that a dispute has, or had for good', (_of, begun) => {
    const after15 = lived(begun, byHand(dispute(15)));
    given(...after15).refuses(byHand(refund(6)), 'invalid_amount', /at most 0\.000005 USD$/);
    const lost = lived(begun, ...[dispute(20), close('lost')].map(byHand));
    given(...lost).refuses(
      byHand(refund(1)),
      'invalid_amount',
      /0\.000020 USD are disputed or lost: nothing more can go back$/,
    );
    expect(balanceOf(lived(begun, ...[dispute(20), close('won'), refund(20)].map(byHand)))).toBe(0n);
  });

  test('of what went back, whatever became of its credits: restored ones do not bring its money back, a withdrawn refund does', () => {
    const restored = lived(paidByHand, byHand(refund(15)), {
      ...{
        type: 'RestoreGrant',
        restorationId: 'rs',
        revocationId: 're_15',
        amount: null,
        reason: 'goodwill',
        ...SAID,
      },
    });
    const tooMuch = [refund(6), dispute(6)].map(byHand);
    for (const one of tooMuch)
      given(...restored).refuses(one, 'invalid_amount', /0\.000015 USD went back before.* at most 0\.000005 USD$/);
    const won = lived(paidByHand, ...[dispute(12), close('won')].map(byHand), byHand(refund(15)));
    given(...won).refuses(byHand(close('lost')), 'invalid_amount');
    expect(balanceOf(lived(restored, byHand(refund(5))))).toBe(15n);
    const withdrawn = lived(restored, {
      type: 'WithdrawRefund',
      paymentId: PAYMENT,
      refundId: 're_15',
      ...SAID,
      reason: 'x',
    });
    expect(balanceOf(lived(withdrawn, byHand(refund(20))))).toBe(0n);
  });

  test('a provider may have done both, and then the credits are taken once', () => {
    const both = lived(paid, dispute(20), close('lost'), refund(20));
    expect(both.slice(-1)).toMatchObject([{ type: 'PaymentRefunded' }]);
    expect(balanceOf(both)).toBe(0n);
    // What it tells after what was written down by hand is told by it.
    const toldLater = lived(paid, byHand(dispute(20)), refund(20));
    expect(balanceOf(toldLater)).toBe(0n);
    expect(faultsOf(toldLater.map(withReason))).toContainEqual(expect.stringMatching(/re_20: refunds of pi_1/));
  });
});

/** As though an operator had written it down. */
const withReason = (event: AccountEvent): AccountEvent =>
  event.type === 'PaymentRefunded' ? { ...event, data: { ...event.data, reason: 'x' } } : event;

test('a refund that failed, and was restored, is made again: what came back of its money is there to go back', () => {
  const restored = (amount: number | null): AccountEvent[] =>
    lived(lived(paid, refund(12)), {
      ...{ type: 'RestoreGrant', restorationId: 'rs', revocationId: 're_12', reason: 're_12 failed', ...SAID },
      amount: amount === null ? null : usd(amount),
    });
  given(...lived(paid, refund(12))).refuses(refund(20), 'invalid_amount');
  const again = lived(restored(null), refund(20));
  expect(balanceOf(again)).toBe(0n);
  given(...again).refuses(refund(1), 'invalid_amount', /20\.00|0\.00002/);
  expect(balanceOf(lived(restored(3), refund(11)))).toBe(0n);
  given(...restored(3)).refuses(refund(12, { refundId: 're_2' }), 'invalid_amount');
  // What was revoked otherwise meanwhile is paid for again, too.
  const revoked = lived(restored(null), {
    ...{ type: 'RevokeGrant', revocationId: 'rv', grantId: grantId('payment_pi_1'), amount: usd(20), ...SAID },
    ...{ cause: 'administration', paymentId: null, reason: 'by hand' },
  } as AccountCommand);
  const back = { type: 'RestoreGrant', restorationId: 'rs_2', revocationId: 'rv', amount: null, reason: 'x', ...SAID };
  expect(balanceOf(lived(revoked, back as AccountCommand))).toBe(20n);
  expect(balanceOf(lived(revoked, dispute(20), close('won')))).toBe(0n);
});

describe('an id of a refund or a dispute', () => {
  const OTHER = { paymentId: paymentId('pi_2') };
  const second = attemptId('purchase_2');
  const both = lived(
    paid,
    { ...start, attemptId: second } as AccountCommand,
    { ...pay, attemptId: second, ...OTHER } as AccountCommand,
  );

  test('is taken for all payments of the account, and for both kinds, for whoever writes it down by hand', () => {
    const disputed = lived(both, dispute(20));
    given(...disputed).refuses(byHand(refund(20, { refundId: 'dp_1' })), 'id_reused', /^id: dp_1 /);
    given(...disputed).refuses(byHand(dispute(20, OTHER)), 'id_reused', /^id: dp_1 /);
    const refunded = lived(both, refund(20));
    given(...refunded).refuses(byHand(refund(20, OTHER)), 'id_reused', /^id: re_20 /);
    given(...refunded).refuses(byHand(dispute(20, { disputeId: 're_20' })), 'id_reused', /^id: re_20 /);
    // Also where there was nothing left to revoke.
    const gone = lived(refunded, dispute(20));
    given(...gone).refuses(byHand(refund(20, { ...OTHER, refundId: 'dp_1' })), 'id_reused', /^id: dp_1 /);
    expect(lived(gone, refund(20, { ...OTHER, refundId: 'dp_1' })).at(-1)).toMatchObject({
      data: { revocationId: 'dp_1_again', grantId: 'payment_pi_2' },
    });
  });

  test('is taken by hand for no payment of here: by its grant or by its name, by whomever it was made', () => {
    const revoke = (of: Partial<CommandOf<'RevokeGrant'>>): AccountCommand => ({
      ...{ type: 'RevokeGrant', revocationId: 'rv', grantId: grantId('payment_pi_1'), amount: usd(5) },
      ...{ cause: 'refund', paymentId: null, reason: 'by hand', ...SAID, ...of },
    });
    const ofOther = { grantId: grantId('grant_other'), paymentId: PAYMENT };
    for (const one of [revoke({}), revoke({ cause: 'dispute' }), revoke(ofOther)])
      given(...paid).refuses(
        one,
        'paid_here',
        /^cause: a (refund|dispute) of pi_1 .*: stripe tells it itself, and where it is configured no more `payment (refund|dispute)` writes it down$/,
      );
    given(...paidByHand).refuses(revoke({}), 'paid_here', /: `payment refund` writes it down$/);
    given(...paid).refuses(
      revoke({ grantId: grantId('grant_other'), paymentId: paymentId('pi_9') }),
      'grant_not_found',
    );
    // It was possible once.
    const [known] = given(...paid).decided(revoke({ cause: 'administration' }));
    if (known?.type !== 'GrantRevoked') throw new Error('nothing was revoked');
    const before: AccountEvent = { ...known, data: { ...known.data, cause: 'refund' } };
    expect(given(...paid, before).decided(revoke({}))).toEqual([]);
  });

  test('is not that of a revocation that was made without it', () => {
    const life = lived(paid, {
      ...{ type: 'RevokeGrant', revocationId: 're_5', grantId: grantId('payment_pi_1'), amount: usd(5) },
      ...{ cause: 'fraud', paymentId: null, reason: 'by hand', ...SAID },
    });
    given(...life).refuses(byHand(refund(5)), 'id_reused', /^id: re_5 /);
    given(...life).refuses(byHand(dispute(5, { disputeId: 're_5' })), 'id_reused', /^id: re_5 /);
  });

  test('gives back what its own payment’s dispute took, where a ledger has it twice', () => {
    const twice = {
      type: 'PaymentDisputed',
      data: { ...OTHER, disputeId: 'dp_1', amount: usd(20), openedAt: new Date(NOW).toISOString(), reason: 'x' },
    } as AccountEvent;
    const life = [...lived(both, dispute(20)), twice];
    expect(faultsOf(life)).toContainEqual(expect.stringMatching(/dp_1: disputed twice$/));
    const closed = given(...life).decided(close('won', OTHER));
    expect(closed).toMatchObject([{ type: 'DisputeClosed' }]);
    expect(faultsOf([...life, ...closed])).toEqual(faultsOf(life));
  });

  test('is not that by which a part came back before: the rest has another', () => {
    const byHand = lived(paid, dispute(20), {
      ...{ type: 'RestoreGrant', restorationId: 'rs', revocationId: 'dp_1', amount: usd(3) },
      ...{ reason: 'by hand', ...SAID },
    });
    const life = restoredAs(byHand, 'dp_1_won');
    const closed = given(...life).decided(close('won'));
    expect(closed.at(-1)).toMatchObject({ data: { restorationId: 'dp_1_won_2', amount: usd(17) } });
    expect(balanceOf([...life, ...closed])).toBe(20n);
  });
});
