import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeEvent, encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { accountStream, attemptId, commandId, grantId, paymentId, position, revision } from '../../../contracts/ids.ts';
import { picoUsd } from '../../../contracts/money.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, MoneyOfRequest } from '../../../ledger/account/commands.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { evolveOwn, OwnParts } from '../../../ledger/account/evolve-own.ts';
import { accountOfText, accountText } from '../../../ledger/account/stored-account.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  granted,
  keyIssued,
  lifeWith,
  ms,
  openAccount,
  opened,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { faultsOf } from '../audit/account-faults.ts';

/*
 * Events that can be read and that no decision wrote: they do not agree with what they follow, or with themselves. The fold, by
 * which views, commands and replays set their account aside, and the audit tell of them alike.
 */

const NOW = ms('2026-11-20T10:00:00.000Z');
const SAID = { reason: 'an operator says so', actor: 'operator', nowMs: NOW };
const [ATTEMPT, PAYMENT] = [attemptId('purchase_1'), paymentId('pi_1')];
const TWENTY = { provider: 'stripe', amount: usd(20), nowMs: NOW };
const start: AccountCommand = { type: 'StartPurchase', attemptId: ATTEMPT, price: usd(20), by: 'x', ...TWENTY };
const pay: AccountCommand = {
  ...{ type: 'RecordPayment', attemptId: ATTEMPT, paymentId: PAYMENT, paidAtMs: NOW, ...TWENTY },
};
const refund: AccountCommand = {
  ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: 're_1', amount: usd(5), refundedAtMs: NOW, ...SAID },
};
const dispute: AccountCommand = {
  ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId: 'dp_1', amount: usd(5), openedAtMs: NOW, ...SAID },
};
const close: AccountCommand = {
  ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId: 'dp_1', outcome: 'lost', closedAtMs: NOW, ...SAID },
};
const fail: AccountCommand = {
  ...{ type: 'RecordPaymentFailure', attemptId: ATTEMPT, code: 'card_declined', isTerminal: true, nowMs: NOW },
};
const revoke: AccountCommand = {
  ...{ type: 'RevokeGrant', revocationId: 'r', grantId: grantId('a'), amount: usd(10), cause: 'refund' },
  ...{ paymentId: null, ...SAID },
};
const restore: AccountCommand = {
  ...{ type: 'RestoreGrant', restorationId: 'b', revocationId: 'r', amount: usd(6), ...SAID },
};
const adjust = (direction: 'up' | 'down'): AccountCommand => ({
  ...{ type: 'AdjustBalance', adjustmentId: grantId(direction), direction, amount: usd(2), ...SAID },
});
const approve: AccountCommand = { type: 'ApproveException', requestId: requestOf(1), ...SAID };
const reverse: AccountCommand = {
  ...{ type: 'ReverseDebit', reversalId: 'x', requestId: requestOf(1), amount: usd(3), ...SAID },
  debits: [],
};

function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) {
    const read = command.type === 'ReverseDebit' ? { ...command, debits: debitsIn(life) } : command;
    life.push(...given(...life).decided(read));
  }
  return life;
}
const debitsIn = (life: readonly AccountEvent[]): MoneyOfRequest[] =>
  life.flatMap((event) => (event.type === 'CreditsDebited' || event.type === 'DebitReversed' ? [event] : []));

const born = [opened, granted('a', 10), keyIssued()];
/** Seven of ten are spent. */
const spent = lifeWith(born, usageOf(1, 7));
const heldBack = lifeWith(born, usageOf(1, 7, { hold: usd(4) }));
const paid = lived(spent, start, pay);
const revoked = lived(spent, revoke);

/** A life whose last event of a type says something else than was decided. */
function changed<T extends AccountEvent['type']>(
  life: readonly AccountEvent[],
  type: T,
  change: Partial<EventData<T>>,
): AccountEvent[] {
  const at = life.findLastIndex((event) => event.type === type);
  return life.map((event, index) =>
    index === at ? ({ ...event, data: { ...event.data, ...change } } as AccountEvent) : event,
  );
}
/** A life in which the last event of a type stands once more, as the last. */
const again = (life: readonly AccountEvent[], type: AccountEvent['type']): AccountEvent[] => [
  ...life,
  ...life.filter((event) => event.type === type).slice(-1),
];

const IMPOSSIBLE: readonly (readonly [what: string, life: readonly AccountEvent[], why: RegExp])[] = [
  ['a grant twice', again(born, 'CreditsGranted'), /^a is granted twice$/],
  ['a key twice', again(spent, 'ApiKeyIssued'), /^key key_a is issued twice$/],
  ['a usage twice', again(spent.slice(0, -1), 'UsageRecorded'), /^the usage of req_\w+ is recorded twice$/],
  [
    'a debit twice',
    again(lifeWith([...born, granted('b', 90)], usageOf(1, 5)), 'CreditsDebited'),
    /^it leaves a balance of 90 micro-USD, and says 95$/,
  ],
  [
    'a debit of another request than its usage',
    changed(spent, 'CreditsDebited', { requestId: requestOf(2) }),
    /^req_\w+ is debited without its usage$/,
  ],
  [
    'a debit that leaves another balance',
    changed(spent, 'CreditsDebited', { balanceAfter: usd(4) }),
    /^it leaves a balance of 3 micro-USD, and says 4$/,
  ],
  [
    'a debit that takes along what is not carried',
    changed(spent, 'CreditsDebited', { carryBefore: picoUsd(1n) }),
    /^it takes along 1 pico-USD, and 0 are carried$/,
  ],
  [
    'a debit that nothing pays',
    changed(spent, 'CreditsDebited', { grants: [] }),
    /^of its 7 micro-USD 0 are accounted for$/,
  ],
  [
    'an approval that leaves another balance',
    changed(lived(heldBack, approve), 'ExceptionApproved', { balanceAfter: usd(4) }),
    /^it leaves a balance of 3 micro-USD, and says 4$/,
  ],
  [
    'an approval that takes along what is not carried',
    changed(lived(heldBack, approve), 'ExceptionApproved', { carryBefore: picoUsd(1n) }),
    /^it takes along 1 pico-USD, and 0 are carried$/,
  ],
  [
    'an approval that is paid twice',
    changed(lived(heldBack, approve), 'ExceptionApproved', { uncovered: usd(3) }),
    /^of its 3 micro-USD 6 are accounted for$/,
  ],
  [
    'a revocation twice',
    again(lived(paid, revoke), 'GrantRevoked'),
    /^it leaves a balance of 3 micro-USD, and says 13$/,
  ],
  [
    'a revocation that leaves another balance',
    changed(revoked, 'GrantRevoked', { balanceAfter: usd(0) }),
    /^it leaves a balance of -7 micro-USD, and says 0$/,
  ],
  [
    'a revocation of more than it took and made owed',
    changed(revoked, 'GrantRevoked', { uncovered: usd(6) }),
    /^of its 10 micro-USD 9 are accounted for$/,
  ],
  [
    'a revocation of which more is paid at once than it makes owed',
    changed(lived(paid, revoke), 'GrantRevoked', { setOff: [{ grantId: grantId('payment_pi_1'), amount: usd(8) }] }),
    /^an amount would be -1, less than nothing$/,
  ],
  [
    'a restoration of more than was revoked',
    again(lived(revoked, restore), 'GrantRestored'),
    /^of revocation r of 10 micro-USD 12 would have come back$/,
  ],
  [
    'a restoration that leaves another balance',
    changed(lived(revoked, restore), 'GrantRestored', { balanceAfter: usd(0) }),
    /^it leaves a balance of -1 micro-USD, and says 0$/,
  ],
  [
    'a restoration of more than comes back',
    changed(lived(revoked, restore), 'GrantRestored', { owedLess: usd(5) }),
    /^of its 6 micro-USD 5 are accounted for$/,
  ],
  [
    'a reversal twice',
    again(lived(spent, reverse), 'DebitReversed'),
    /^it leaves a balance of 9 micro-USD, and says 6$/,
  ],
  [
    'a reversal in a month that has spent less',
    changed(lived(spent, reverse), 'DebitReversed', { month: '2026-10' }),
    /^an amount would be -3, less than nothing$/,
  ],
  ['an adjustment upwards twice', again(lived(spent, adjust('up')), 'BalanceAdjusted'), /^up is granted twice$/],
  [
    'an adjustment upwards that leaves another balance',
    changed(lived(spent, adjust('up')), 'BalanceAdjusted', { balanceAfter: usd(3) }),
    /^it leaves a balance of 5 micro-USD, and says 3$/,
  ],
  [
    'an adjustment downwards of more than it takes',
    changed(lived(spent, adjust('down')), 'BalanceAdjusted', { shares: [] }),
    /^of its 2 micro-USD 0 are accounted for$/,
  ],
  ['a payment begun twice', again(paid, 'PurchaseStarted'), /^purchase_1 is begun twice$/],
  ['a payment paid twice', again(paid, 'PaymentSucceeded'), /^PaymentSucceeded of purchase_1, which pi_1 has paid$/],
  [
    'a payment that fails once it is paid',
    [...paid, ...given(...spent, ...given(...spent).decided(start)).decided(fail)],
    /^PaymentFailed of purchase_1, which pi_1 has paid$/,
  ],
  ['a refund twice', again(lived(paid, refund), 'PaymentRefunded'), /^re_1 is refunded twice$/],
  ['a dispute twice', again(lived(paid, dispute), 'PaymentDisputed'), /^dp_1 is disputed twice$/],
  [
    'the end of a dispute that there is not',
    [...paid, ...lived(paid, dispute, close).slice(-1)],
    /^dp_1 is lost, and is no open dispute$/,
  ],
  ['the end of a dispute twice', again(lived(paid, dispute, close), 'DisputeClosed'), /^dp_1 is lost, and is no open/],
];

describe.each(IMPOSSIBLE)('%s', (_what, life, why) => {
  test('cannot follow what stands before it, and the audit tells of it', () => {
    expect(thrownBy(() => fold(life))).toMatch(why);
    expect(faultsOf(life)).not.toEqual([]);
  });

  test('leaves a state that its fold alone has as it was', () => {
    const at = life.findIndex((_, index) => thrownBy(() => fold(life.slice(0, index + 1))) !== null);
    const [before, event] = [life.slice(0, at), life[at] as AccountEvent];
    const own = new OwnParts();
    const state = before
      .slice(born.length)
      .reduce((state, one) => evolveOwn(state, one, own), openAccount(before.slice(0, born.length)));
    expect(thrownBy(() => evolveOwn(state, event, own))).toMatch(why);
    expect(state).toEqual(openAccount(before));
  });
});

/** What one amount of an event may be instead: what it is near, what it may be taken for, and what nothing holds. */
const amounts = fc.constantFrom('0', '1', '7', '300', '500', '1000000', '9'.repeat(59));

test('whatever amount of whichever event is another one, its account is set aside or can be kept, and owes what its credits lack', () => {
  let taken = 0;
  fc.assert(
    fc.property(lives, fc.nat(), fc.nat(), amounts, (steps, which, field, amount) => {
      const events = live(steps);
      const at = which % events.length;
      const forged = withAmount(events[at] as AccountEvent, field, amount);
      if (forged === null) return;
      const state = foldedUpTo([...events.slice(0, at), forged, ...events.slice(at + 1)]);
      if (state.type === 'unopened') return;
      taken++;
      expect(accountOfText(accountText(state))).toMatchObject({ balance: state.balance, grants: state.grants });
      const left = state.grants.reduce((sum, { remaining }) => sum + remaining, 0n);
      expect(left - state.uncovered).toBe(state.balance);
    }),
    { numRuns: 300 },
  );
  expect(taken).toBeGreaterThan(100);
});

/** As far as its events can follow one another. */
function foldedUpTo(events: readonly AccountEvent[]): AccountState {
  let state: AccountState = INITIAL_ACCOUNT;
  try {
    for (const event of events) state = evolve(state, event);
  } catch {
    // Set aside from here on.
  }
  return state;
}

/** Null where it has none. */
function withAmount(event: AccountEvent, which: number, amount: string): AccountEvent | null {
  const recording = { commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'), actor: 'x', recordedAt: AT };
  const [stored] = encodeEvents([event], recording);
  const places = [...(stored?.data ?? '').matchAll(/":"-?\d+"/g)];
  const place = places[which % Math.max(1, places.length)];
  if (stored === undefined || place === undefined) return null;
  const data = `${stored.data.slice(0, place.index)}":"${amount}"${stored.data.slice(place.index + place[0].length)}`;
  const at = { stream: accountStream(ACCOUNT), revision: revision(0), position: position(0) };
  return decodeEvent({ ...stored, ...at, data }) as AccountEvent;
}

const AT = '2026-11-20T10:00:00.000Z';

function thrownBy(work: () => unknown): string | null {
  try {
    work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return null;
}
