import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  openAccount,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';

/** What is left of a payment's credits is the same in whatever order it is told what became of its money, and of them. */

const NOW = ms('2026-11-20T10:00:00.000Z');
const PAYMENT = paymentId('pi_1');
const PAID = { attemptId: attemptId('purchase_1'), provider: 'stripe', nowMs: NOW };
const TOLD = { actor: 'payments', nowMs: NOW };
const BY_HAND = { actor: 'operator', reason: 'by hand', nowMs: NOW };

function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) life.push(...given(...life).decided(command));
  return life;
}
const paid = (price: number, credits = price): AccountEvent[] =>
  lived(
    [opened, keyIssued()],
    { type: 'StartPurchase', amount: usd(credits), price: usd(price), by: 'x', ...PAID },
    { type: 'RecordPayment', amount: usd(price), paymentId: PAYMENT, paidAtMs: NOW, ...PAID },
  );
const revoke = (id: string, amount: number, cause: 'fraud' | 'administration' = 'fraud'): AccountCommand => ({
  ...{ type: 'RevokeGrant', revocationId: id, grantId: grantId('payment_pi_1'), amount: usd(amount), cause },
  ...{ paymentId: null, ...BY_HAND },
});
const restore = (id: string): AccountCommand => ({
  ...{ type: 'RestoreGrant', restorationId: `back_${id}`, revocationId: id, amount: null, ...BY_HAND },
});
const refund = (id: string, amount: number, said: object = TOLD): AccountCommand =>
  ({
    ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: id, amount: usd(amount), refundedAtMs: NOW },
    ...said,
  }) as AccountCommand;
const fail = (id: string, said: object = TOLD): AccountCommand =>
  ({ type: 'WithdrawRefund', paymentId: PAYMENT, refundId: id, ...said }) as AccountCommand;
const dispute = (id: string, amount: number, said: object = TOLD): AccountCommand =>
  ({
    ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId: id, amount: usd(amount), openedAtMs: NOW },
    ...said,
  }) as AccountCommand;
type End = 'won' | 'lost';
const close = (id: string, outcome: End, stood: End | null = null, said: object = TOLD): AccountCommand =>
  ({
    ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId: id, outcome, stood, closedAtMs: NOW },
    ...said,
  }) as AccountCommand;

const balanceOf = (life: readonly AccountEvent[]): bigint => {
  expect(faultsOf(life)).toEqual([]);
  return openAccount(life).balance;
};

test.each<[string, AccountCommand[][], bigint]>([
  [
    'a refund that fails, and another',
    [
      [refund('a', 15), refund('b', 5), fail('a')],
      [refund('a', 15), fail('a'), refund('b', 5)],
      [refund('b', 5), refund('a', 15), fail('a')],
    ],
    10n,
  ],
  [
    'a dispute that is won, and a refund',
    [
      [dispute('d', 20), refund('b', 5), close('d', 'won')],
      [dispute('d', 20), close('d', 'won'), refund('b', 5)],
      [refund('b', 5), dispute('d', 20), close('d', 'won')],
    ],
    10n,
  ],
  [
    'a dispute that is lost, and a refund that fails',
    [
      [refund('a', 15), dispute('d', 8), close('d', 'lost'), fail('a')],
      [dispute('d', 8), refund('a', 15), fail('a'), close('d', 'lost')],
    ],
    7n,
  ],
])('what an operator has revoked stays so, and covers nothing that went back: %s', (_, orders, left) => {
  for (const order of orders) expect(balanceOf(lived(paid(20), revoke('r', 5), ...order))).toBe(left);
});

test('what an operator gives back is what is paid for, and the rest can be given back once its money is here', () => {
  const refunded = lived(paid(20), revoke('r', 15), refund('a', 12), restore('r'));
  expect(balanceOf(refunded)).toBe(8n);
  const failed = lived(refunded, fail('a'));
  expect(balanceOf(failed)).toBe(13n);
  const rest = { ...restore('r'), restorationId: 'rest' } as AccountCommand;
  expect(balanceOf(lived(failed, rest))).toBe(20n);
});

test('a dispute that is lost again has taken anew what was kept of it, which comes back for another then', () => {
  const others = [dispute('b', 8), dispute('d', 7)];
  const kept = lived(paid(20), dispute('a', 10), ...others, close('a', 'won'));
  const lost = lived(kept, close('b', 'won'), close('a', 'lost', 'won'));
  expect(balanceOf(lost)).toBe(3n);
  const won = lived(lost, close('d', 'won'));
  expect(won.slice(-2)).toMatchObject([
    { type: 'GrantRestored', data: { restorationId: 'd_won', revocationId: 'd', amount: usd(2) } },
    { type: 'GrantRestored', data: { restorationId: 'd_won_2', revocationId: 'a', amount: usd(5) } },
  ]);
  expect(balanceOf(won)).toBe(10n);
  expect(faultsOf(won.slice(0, -1))).toContainEqual(expect.stringMatching(/d: won, and not restored$/));
  expect(balanceOf(lived(won, close('a', 'won', 'lost')))).toBe(20n);
});

test.each<[string, AccountCommand[], bigint]>([
  ['a refund that fails', [refund('r', 5), fail('r')], 20n],
  ['a dispute that is won', [dispute('d', 5), close('d', 'won')], 20n],
  ['a revocation that is undone', [dispute('d', 5), close('d', 'won'), revoke('f', 5), restore('f')], 20n],
])(
  'what an operator gave back of a dispute that was lost keeps nothing of what comes back for another: %s',
  (_, then, left) => {
    const given = lived(paid(20), dispute('a', 10), close('a', 'lost'), restore('a'));
    expect(balanceOf(given)).toBe(20n);
    const life = lived(given, ...then);
    expect(balanceOf(life)).toBe(left);
    expect(balanceOf(lived(life, close('a', 'won', 'lost')))).toBe(left);
    const lost = lived(life, close('a', 'won', 'lost'), close('a', 'lost', 'won'));
    expect(balanceOf(lost)).toBe(10n);
    expect(balanceOf(lived(lost, refund('z', 5), fail('z')))).toBe(10n);
  },
);

test('what an operator has revoked of other credits, called as what a dispute takes that is lost again, keeps nothing', () => {
  const life = lived([...paid(20), granted('g1', 10)], dispute('a', 10), close('a', 'lost'), restore('a'));
  for (const id of ['other', 'a_lost', 'a_lost_2']) {
    const others = { ...revoke(id, 10), grantId: grantId('g1'), cause: 'dispute' } as AccountCommand;
    const then = [refund('r', 5), fail('r'), revoke('f', 5), restore('f')];
    expect(balanceOf(lived(life, others, ...then))).toBe(20n);
    // Programs of before gave nothing back.
    expect(balanceOf(lived(life, others, refund('r', 5), fail('r')).slice(0, -1))).toBe(15n);
  }
});

test('what came back with the money of a dispute that was won is nothing that an operator gave back, once it is lost', () => {
  const won = lived(paid(20), dispute('a', 5), close('a', 'won'));
  const lost = lived(won, revoke('f', 20), close('a', 'lost', 'won'));
  expect(balanceOf(lived(lost, restore('f')))).toBe(15n);
});

test('what an operator gave back of a refund that found less than its money bought is no more than that', () => {
  const some = { ...restore('a'), amount: usd(5) } as AccountCommand;
  const life = lived(paid(20), revoke('f', 5), dispute('d', 10), refund('a', 10), some, close('d', 'won'));
  expect(balanceOf(life)).toBe(10n);
});

/** The last restoration of a life as a program of before wrote it: so much, all of it to the grant. */
function restoredBefore(life: readonly AccountEvent[], amount: number, balanceAfter: number): AccountEvent[] {
  const event = life.at(-1);
  if (event?.type !== 'GrantRestored') throw new Error('nothing was restored');
  const { grantId: of } = event.data;
  const reinstated = [{ grantId: of, amount: usd(amount), expiresAt: null }];
  const data = { ...event.data, amount: usd(amount), balanceAfter: usd(balanceAfter), reinstated };
  return [...life.slice(0, -1), { ...event, data }];
}

test('what programs of before gave back of what an operator had revoked is right by the rule of then', () => {
  const life = lived(paid(20), revoke('r', 5), refund('a', 15), refund('b', 5), fail('a'));
  expect(balanceOf(life)).toBe(10n);
  expect(balanceOf(restoredBefore(life, 15, 15))).toBe(15n);
  expect(faultsOf(restoredBefore(life, 14, 14))).not.toEqual([]);
  expect(faultsOf(life.slice(0, -1))).not.toEqual([]);
});

const amount = fc.integer({ min: 1, max: 20 });
const said = fc.constantFrom(TOLD, BY_HAND);
const ends = fc.constantFrom<End[]>([], ['won'], ['lost'], ['lost', 'won'], ['won', 'lost'], ['won', 'lost', 'won']);
/** Of one thing what is told of it, in its order. */
const thing = fc.oneof(
  fc
    .record({ amount, said, fails: fc.boolean() })
    .map((of) => (id: string) => [refund(id, of.amount, of.said), ...(of.fails ? [fail(id, of.said)] : [])]),
  fc
    .record({ amount, said, ends })
    .map((of) => (id: string) => [
      dispute(id, of.amount, of.said),
      ...of.ends.map((outcome, at) => close(id, outcome, of.ends[at - 1] ?? null, of.said)),
    ]),
  fc
    .record({ amount, cause: fc.constantFrom('fraud' as const, 'administration' as const) })
    .map((of) => (id: string) => [revoke(id, of.amount, of.cause)]),
);

/** All of them, each in its own order, and one of them after another by these numbers. */
function shuffled(things: readonly (readonly AccountCommand[])[], by: readonly number[]): AccountCommand[] {
  const left = things.map((commands) => [...commands]);
  const all: AccountCommand[] = [];
  for (let at = 0; ; at++) {
    const open = left.filter((commands) => commands.length > 0);
    if (open.length === 0) return all;
    all.push(...(open[(by[at] ?? 0) % open.length]?.splice(0, 1) ?? []));
  }
}

/** What can be told in that order; what is refused then is no fact. */
function told(before: readonly AccountEvent[], commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) {
    const decided = decide(command, fold(life));
    if (!('type' in decided)) life.push(...decided);
  }
  return life;
}

/** By the facts alone, in whatever order: in credits, of so many for so much. */
function due(life: readonly AccountEvent[], { price, credits }: { readonly price: bigint; readonly credits: bigint }) {
  const gone = new Map<string, bigint>();
  const won = new Map<string, bigint>();
  let [revoked, spent] = [0n, 0n];
  for (const { type, data } of life) {
    if (type === 'CreditsDebited') spent += data.amount;
    if (type === 'GrantRevoked' && (data.cause === 'fraud' || data.cause === 'administration')) revoked += data.amount;
    if (type === 'PaymentRefunded') gone.set(data.refundId, data.amount);
    if (type === 'RefundWithdrawn') gone.delete(data.refundId);
    if (type === 'PaymentDisputed') gone.set(data.disputeId, data.amount);
    if (type !== 'DisputeClosed') continue;
    const { disputeId: id, outcome } = data;
    const [from, to] = outcome === 'won' ? [gone, won] : [won, gone];
    to.set(id, from.get(id) ?? to.get(id) ?? 0n);
    from.delete(id);
  }
  const back = ([...gone.values()].reduce((sum, one) => sum + one, 0n) * credits) / price;
  const most = credits - revoked;
  return most - (back < most ? back : most) - spent;
}

test('after the same revocations, refunds, failures and ends of disputes the balance is the same, whatever the order', () => {
  const by = fc.array(fc.nat({ max: 59 }), { minLength: 20, maxLength: 20 });
  const terms = fc.constantFrom({ price: 20, credits: 20 }, { price: 20, credits: 33 }, { price: 20, credits: 7 });
  fc.assert(
    fc.property(
      fc.array(thing, { minLength: 1, maxLength: 7 }),
      by,
      terms,
      fc.nat({ max: 30 }),
      (things, order, { price, credits }, spent) => {
        const commands = things.map((of, at) => of(`x_${at}`));
        const before = spent === 0 ? paid(price, credits) : lifeWith(paid(price, credits), usageOf(1, spent));
        const life = told(before, shuffled(commands, order));
        const off = balanceOf(life) - due(life, { price: BigInt(price), credits: BigInt(credits) });
        // Of a discount each part is off by less than a micro-USD.
        const most = price === credits ? 0 : things.length;
        expect(Math.abs(Number(off))).toBeLessThanOrEqual(most);
      },
    ),
    { numRuns: 300 },
  );
});
