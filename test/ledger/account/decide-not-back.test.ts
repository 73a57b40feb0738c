import { describe, expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { creditsTaken } from '../../../ledger/account/credits-taken.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { keyIssued, lifeWith, ms, openAccount, opened, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { restoredAs } from './restored-as.ts';

/** What went back, or is the bank's, by what was written down by mistake. */

const NOW = ms('2026-11-20T10:00:00.000Z');
const [ATTEMPT, PAYMENT] = [attemptId('purchase_1'), paymentId('pi_1')];
const SAID = { actor: 'operator', reason: 'by mistake', nowMs: NOW };
const TWENTY = { amount: usd(20), provider: 'manual', nowMs: NOW };
const start: AccountCommand = { type: 'StartPurchase', attemptId: ATTEMPT, price: usd(20), by: 'x', ...TWENTY };
const pay: AccountCommand = {
  ...{ type: 'RecordPayment', attemptId: ATTEMPT, paymentId: PAYMENT, paidAtMs: NOW, ...TWENTY },
};
function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) life.push(...given(...life).decided(command));
  return life;
}
const refund = (amount: number, change: Partial<CommandOf<'RecordRefund'>> = {}): AccountCommand => ({
  ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: `re_${amount}`, amount: usd(amount), refundedAtMs: NOW },
  ...{ ...SAID, ...change },
});
const withdraw = (refundId: string, change: Partial<CommandOf<'WithdrawRefund'>> = {}): AccountCommand => ({
  ...{ type: 'WithdrawRefund', paymentId: PAYMENT, refundId, ...SAID, ...change },
});
const dispute = (amount: number, disputeId = 'dp_1'): AccountCommand => ({
  ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId, amount: usd(amount), openedAtMs: NOW, ...SAID },
});
const close = (outcome: 'won' | 'lost', disputeId = 'dp_1'): AccountCommand => ({
  ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId, outcome, closedAtMs: NOW, ...SAID },
});
const restore = (revocationId: string, amount: number, restorationId = 'by_hand'): AccountCommand => ({
  ...{ type: 'RestoreGrant', restorationId, revocationId, amount: usd(amount), ...SAID },
});
/** What there is, and what is owed; the audit has nothing to say. */
function stands(life: readonly AccountEvent[]): { readonly balance: bigint; readonly owed: bigint } {
  expect(faultsOf(life)).toEqual([]);
  const { balance, uncovered } = openAccount(life);
  return { balance, owed: uncovered };
}
const paid = lived([opened, keyIssued()], start, pay);
const spent = lifeWith(paid, usageOf(1, 15));
const STRIPE = { provider: 'stripe' };
const paidAtStripe = lived(
  [opened],
  { ...start, ...STRIPE } as AccountCommand,
  { ...pay, ...STRIPE } as AccountCommand,
);
/** As a provider tells it, without a reason. */
function unsaid(command: AccountCommand): AccountCommand {
  const { reason: _reason, ...told } = command as CommandOf<'RecordRefund'>;
  return told;
}

describe('a refund that was written down by mistake', () => {
  test('is withdrawn once, gives back what it took, and as much can be refunded anew, under another id', () => {
    const back = given(...lived(paid, refund(12))).decided(withdraw('re_12'));
    expect(back).toMatchObject([
      {
        type: 'RefundWithdrawn',
        data: { paymentId: PAYMENT, refundId: 're_12', amount: usd(12), reason: 'by mistake' },
      },
      {
        type: 'GrantRestored',
        data: {
          ...{ restorationId: 're_12_withdrawn', revocationId: 're_12', amount: usd(12), actor: 'operator' },
          reason: 'refund re_12 was withdrawn: by mistake',
        },
      },
    ]);
    const withdrawn = [...lived(paid, refund(12)), ...back];
    expect(stands(withdrawn)).toEqual({ balance: 20n, owed: 0n });
    expect(given(...withdrawn).decided(withdraw('re_12'))).toEqual([]);
    given(...withdrawn).refuses(refund(12), 'id_reused', /^id: refund re_12 was withdrawn/);
    given(...withdrawn).refuses(refund(21), 'invalid_amount');
    expect(stands(lived(withdrawn, refund(20)))).toEqual({ balance: 0n, owed: 0n });
  });

  test('leaves nothing owed that it had made owed', () => {
    const refunded = lived(spent, refund(20));
    expect(stands(refunded)).toEqual({ balance: -15n, owed: 15n });
    expect(stands(lived(refunded, withdraw('re_20')))).toEqual({ balance: 5n, owed: 0n });
  });

  test('gives back no more than has not come back by hand, and not what other money has that went back', () => {
    const restored = lived(paid, refund(12), restore('re_12', 5));
    expect(stands(restored).balance).toBe(13n);
    expect(stands(lived(restored, withdraw('re_12'))).balance).toBe(20n);
    const again = lived(restored, refund(5), withdraw('re_12'));
    expect(stands(again).balance).toBe(15n);
    // Its id was taken by what came back by hand.
    const named = lived(restoredAs(restored, 're_12_withdrawn'), withdraw('re_12'));
    expect(named.at(-1)).toMatchObject({ data: { restorationId: 're_12_withdrawn_2', amount: usd(7) } });
    expect(stands(named).balance).toBe(20n);
  });

  test('keeps the same of what comes back whatever an operator has called what was given back of another', () => {
    const refunds = lived(paid, refund(10), refund(5));
    const last = (before: readonly AccountEvent[]): bigint => stands(lived(before, withdraw('re_5'))).balance;
    expect(last(lived(refunds, restore('re_10', 10)))).toBe(20n);
    const ofForms = [
      're_10_withdrawn',
      're_10_withdrawn_2',
      're_10_won',
      're_5_withdrawn',
      're_1_withdrawn',
      'd_won_12',
    ];
    for (const id of ofForms)
      given(...refunds).refuses(restore('re_10', 10, id), 'restoration_id_reserved', /^id: .* choose another$/);
    for (const id of ['_won', 'won', 're_10_won_', 're_10_withdrawn_2b', 'restoration_re_10'])
      expect(last(lived(refunds, restore('re_10', 10, id)))).toBe(20n);
    // What operators of before have called so counts as it did, and is done.
    const ofBefore = (id: string) => restoredAs(lived(refunds, restore('re_10', 10)), id);
    expect(last(ofBefore('re_10_withdrawn'))).toBe(15n);
    given(...ofBefore('re_10_withdrawn')).decides(restore('re_10', 10, 're_10_withdrawn'));
    given(...ofBefore('re_10_withdrawn')).refuses(restore('re_10', 1, 're_10_withdrawn'), 'id_reused');
  });

  test('is audited as it is decided where operators of before called what was given back of a refund as of a dispute', () => {
    const some = restoredAs(lived(paid, refund(10), refund(8), restore('re_10', 5)), 're_10_won');
    expect(stands(lived(some, withdraw('re_8'))).balance).toBe(15n);
  });

  test('and a dispute of the same money leave nothing taken, whichever ends first', () => {
    // A provider may tell of both; the second finds nothing to take.
    const [refunded, disputed] = [unsaid(refund(20)), unsaid(dispute(20))];
    for (const both of [lived(paidAtStripe, refunded, disputed), lived(paidAtStripe, disputed, refunded)])
      for (const ends of [
        [withdraw('re_20'), close('won')],
        [close('won'), withdraw('re_20')],
      ]) {
        const one = lived(both, ends[0] as AccountCommand);
        expect(stands(one).balance).toBe(0n);
        expect(stands(lived(one, ends[1] as AccountCommand)).balance).toBe(20n);
      }
  });

  test('is refused where there is none, and where nobody says why', () => {
    given(...paid).refuses(withdraw('re_1'), 'refund_not_found', /^pi_1 has no refund re_1$/);
    given(...paid).refuses(withdraw('re_1', { paymentId: paymentId('pi_2') }), 'payment_not_found');
    given(...lived(paid, refund(5))).refuses(withdraw('re_5', { reason: ' ' }), 'reason_missing');
  });

  test('takes with it what has to come back: without that the audit tells of it', () => {
    const life = lived(paid, refund(12), withdraw('re_12'));
    expect(faultsOf(life.slice(0, -1))).toContainEqual(expect.stringMatching(/re_12: withdrawn, and not restored$/));
    const other = life.map((event) =>
      event.type === 'RefundWithdrawn' ? { ...event, data: { ...event.data, amount: usd(11) } } : event,
    );
    expect(faultsOf(other)).toContainEqual(expect.stringMatching(/re_12: what of it is withdrawn is 0\.000011 USD/));
  });
});

describe('how a dispute ended, said again', () => {
  const open = lived(paid, dispute(12));

  test('is as it was said last: lost and then won it gives back what it took, won and then lost it takes that', () => {
    const [lost, won] = [lived(open, close('lost')), lived(open, close('won'))];
    expect(given(...lost).decided(close('lost'))).toEqual([]);
    expect(stands(lived(lost, close('won')))).toEqual(stands(won));
    const after = lived(won, close('lost'));
    expect(after.slice(won.length)).toMatchObject([
      { type: 'DisputeClosed', data: { outcome: 'lost', replaces: 'won' } },
      {
        type: 'GrantRevoked',
        data: { revocationId: 'dp_1_lost', cause: 'dispute', paymentId: PAYMENT, amount: usd(12) },
      },
    ]);
    expect(after.at(-1)).toMatchObject({ data: { reason: 'dispute dp_1 was lost: by mistake' } });
    expect(stands(after)).toEqual(stands(lost));
    expect(creditsTaken(after.slice(won.length), fold(won))).toMatchObject({
      id: 'dp_1',
      revoked: 12n,
      notRevoked: 0n,
    });
  });

  test('takes what the grant has, and the rest is owed; won once more that is owed no more, however often', () => {
    let life = lived(open, close('won'));
    life = lifeWith(life, usageOf(1, 15));
    for (const nth of ['', '_2', '_3']) {
      life = lived(life, close('lost'));
      expect(life.at(-1)).toMatchObject({ data: { revocationId: `dp_1_lost${nth}`, taken: 5n, uncovered: 7n } });
      expect(stands(life)).toEqual({ balance: -7n, owed: 7n });
      life = lived(life, close('won'));
      expect(life.at(-1)).toMatchObject({ data: { revocationId: `dp_1_lost${nth}`, amount: 12n, owedLess: 7n } });
      expect(stands(life)).toEqual({ balance: 5n, owed: 0n });
    }
  });

  test('is, by hand, not lost after all where the money went back otherwise; told by its provider it is, and takes nothing twice', () => {
    const refunded = lived(open, close('won'), refund(15));
    given(...refunded).refuses(close('lost'), 'invalid_amount', /^amount: of pi_1 /);
    const lostNow = { ...close('lost'), stood: 'won' } as AccountCommand;
    const told = [dispute(12), close('won'), refund(15), lostNow].map(unsaid);
    const lost = lived(paidAtStripe, ...told);
    expect(lost.at(-1)).toMatchObject({ data: { revocationId: 'dp_1_lost', amount: usd(5) } });
    expect(stands(lost).balance).toBe(0n);
    expect(stands(lived(lived(open, close('won'), refund(8)), close('lost'))).balance).toBe(0n);
  });

  test('takes under no id that another has', () => {
    const named = lived(paid, dispute(3, 'dp_1_lost'), close('won', 'dp_1_lost'), dispute(12), close('won'));
    const lost = lived(named, close('lost'));
    expect(lost.at(-1)).toMatchObject({ data: { revocationId: 'dp_1_lost_2' } });
    expect(stands(lost).balance).toBe(8n);
    expect(stands(lived(lost, close('won'))).balance).toBe(20n);
  });

  test('is undone as it was opened by mistake, where it is won', () => {
    expect(stands(lived(open, close('won')))).toEqual(stands(paid));
  });

  test('pauses what it had bought by itself, as a dispute does', () => {
    const TERMS = { threshold: usd(5), target: usd(600_000), monthlyCap: usd(2_000_000), consentedAtMs: NOW, by: 'x' };
    const card = { customerId: 'c', paymentMethodId: 'pm', brand: 'visa', last4: '4242', consentedAtMs: NOW, by: 'x' };
    const id = attemptId('reload_1');
    const begun = lived(
      [opened],
      { type: 'SavePaymentMethod', provider: 'manual', ...card },
      { type: 'ConfigureAutoReload', ...TERMS },
      { type: 'StartAutoReload', attemptId: id, provider: 'manual', nowMs: NOW },
    );
    const amount = usd(600_000);
    const bought = lived(begun, { ...(pay as CommandOf<'RecordPayment'>), attemptId: id, amount });
    const won = lived(bought, dispute(12), close('won'), { type: 'ConfigureAutoReload', ...TERMS });
    const lost = lived(won, close('lost'));
    expect(lost.at(-1)).toMatchObject({ type: 'AutoReloadPaused', data: { reason: 'disputed' } });
    stands(lost);
  });

  test('is compared by the audit with how it was said to have ended, and with what has to be taken', () => {
    const lost = lived(open, close('won'), close('lost'));
    expect(faultsOf(lost.slice(0, -1))).not.toEqual([]);
    const first = lost.map((event) =>
      event.type === 'DisputeClosed' ? { ...event, data: { ...event.data, replaces: null } } : event,
    );
    expect(faultsOf(first)).toContainEqual(expect.stringMatching(/dp_1: lost, and was won before$/));
  });
});
