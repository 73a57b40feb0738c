import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountId, type KeyId, keyId, leaseId, requestId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { type Hold, Holds } from '../../proxy/holds.ts';

const A = accountId('acct_a');
const B = accountId('acct_b');
const K1 = keyId('key_1');
const K2 = keyId('key_2');
const MAY = '2026-05';
const JUNE = '2026-06';
const L1 = leaseId('lease_1');
const one = requestId('req_1');
const two = requestId('req_2');

const hold = (amount: bigint, more: Partial<Hold> = {}): Hold => ({
  accountId: A,
  keyId: K1,
  month: MAY,
  amount: microUsd(amount),
  leaseId: null,
  startedAtMs: 0,
  ...more,
});

describe('holds', () => {
  it('add up by account, by month and by key', () => {
    const holds = new Holds();
    holds.place(requestId('req_1'), hold(1n));
    holds.place(requestId('req_2'), hold(20n, { keyId: K2 }));
    holds.place(requestId('req_3'), hold(300n, { month: JUNE }));
    holds.place(requestId('req_4'), hold(4_000n, { accountId: B }));
    expect([holds.ofAccount(A), holds.ofAccount(B)]).toEqual([321n, 4_000n]);
    expect([holds.ofAccountMonth(A, MAY), holds.ofAccountMonth(A, JUNE), holds.ofAccountMonth(B, JUNE)]).toEqual([
      21n,
      300n,
      0n,
    ]);
    expect([holds.ofKeyMonth(A, K1, MAY), holds.ofKeyMonth(A, K2, MAY), holds.ofKeyMonth(A, K1, JUNE)]).toEqual([
      1n,
      20n,
      300n,
    ]);
    expect(holds.ofKeyMonth(B, K1, MAY)).toBe(4_000n);
    expect(holds.count).toBe(4);
  });

  it('are lowered, never raised', () => {
    const holds = new Holds();
    holds.place(one, hold(100n));
    holds.lower(one, microUsd(40n));
    expect(holds.ofAccount(A)).toBe(40n);
    holds.lower(one, microUsd(90n));
    expect(holds.ofAccount(A)).toBe(40n);
    holds.release(one);
    expect([holds.ofAccount(A), holds.ofAccountMonth(A, MAY), holds.ofKeyMonth(A, K1, MAY), holds.count]).toEqual([
      0n,
      0n,
      0n,
      0,
    ]);
  });

  it('of nothing count as requests and hold nothing', () => {
    const holds = new Holds();
    holds.place(one, hold(0n));
    expect([holds.count, holds.ofAccount(A)]).toEqual([1, 0n]);
    holds.release(one);
    expect(holds.count).toBe(0);
  });

  it('are released once: again, and of requests that hold nothing, is no matter', () => {
    const holds = new Holds();
    holds.place(one, hold(5n));
    holds.place(two, hold(7n));
    holds.release(one);
    holds.release(one);
    holds.lower(one, microUsd(1n));
    holds.release(requestId('req_unknown'));
    expect(holds.ofAccount(A)).toBe(7n);
  });

  it('are placed once: a second hold of the same request is a bug', () => {
    const holds = new Holds();
    holds.place(one, hold(5n));
    expect(() => holds.place(one, hold(5n))).toThrow('req_1 holds already');
    expect(holds.ofAccount(A)).toBe(5n);
  });
});

type Step =
  | { readonly type: 'place'; readonly id: number; readonly hold: Hold }
  | { readonly type: 'lower'; readonly id: number; readonly amount: bigint }
  | { readonly type: 'release'; readonly id: number };

const amount = fc.bigInt({ min: 0n, max: 10n ** 15n });
const id = fc.nat({ max: 7 });
const anyHold = fc.record({
  startedAtMs: fc.constant(0),
  accountId: fc.constantFrom(A, B),
  keyId: fc.constantFrom(K1, K2),
  month: fc.constantFrom(MAY, JUNE),
  amount: amount.map(microUsd),
  leaseId: fc.constantFrom(null, L1),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('place' as const), id, hold: anyHold }),
  fc.record({ type: fc.constant('lower' as const), id, amount }),
  fc.record({ type: fc.constant('release' as const), id }),
);

/** What is held, as a list: no sums kept. */
class Model {
  readonly held = new Map<number, Hold>();

  apply(step: Step): void {
    const hold = this.held.get(step.id);
    if (step.type === 'place') this.held.set(step.id, step.hold);
    else if (hold !== undefined && step.type === 'release') this.held.delete(step.id);
    else if (hold !== undefined && step.type === 'lower' && step.amount < hold.amount)
      this.held.set(step.id, { ...hold, amount: microUsd(step.amount) });
  }

  sum(matches: (hold: Hold) => boolean): bigint {
    return [...this.held.values()].filter(matches).reduce((sum, { amount }) => sum + amount, 0n);
  }
}

function perform(holds: Holds, step: Step): void {
  const request = requestId(`req_${step.id}`);
  if (step.type === 'place') holds.place(request, step.hold);
  else if (step.type === 'lower') holds.lower(request, microUsd(step.amount));
  else holds.release(request);
}

it('invariant 9: holds: the sums of holds are those of the single holds after any steps, and never negative', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const holds = new Holds();
      const model = new Model();
      for (const one of steps) {
        if (one.type === 'place' && model.held.has(one.id)) continue;
        perform(holds, one);
        model.apply(one);
        expect(holds.count).toBe(model.held.size);
        for (const account of [A, B]) {
          expect(holds.ofAccount(account)).toBe(model.sum((hold) => hold.accountId === account));
          expect(holds.ofLease(account, L1)).toBe(
            model.sum((hold) => hold.accountId === account && hold.leaseId === L1),
          );
          for (const month of [MAY, JUNE]) {
            const ofMonth = (hold: Hold) => hold.accountId === account && hold.month === month;
            expect(holds.ofAccountMonth(account, month)).toBe(model.sum(ofMonth));
            for (const key of [K1, K2])
              expect(holds.ofKeyMonth(account, key, month)).toBe(
                model.sum((hold) => ofMonth(hold) && hold.keyId === key),
              );
          }
        }
      }
    }),
    { numRuns: 200 },
  );
});

type MemberStep = Step | { readonly type: 'ask' } | { readonly type: 'know'; readonly key: KeyId };

const keys = [K1, K2, keyId('key_3')] as const;
const memberStep: fc.Arbitrary<MemberStep> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('place' as const), id, hold: anyHold.chain(ofAnyKey) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('lower' as const), id, amount }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('release' as const), id }) },
  { weight: 3, arbitrary: fc.constant({ type: 'ask' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('know' as const), key: fc.constantFrom(...keys) }) },
);

function ofAnyKey(hold: Hold): fc.Arbitrary<Hold> {
  return fc.constantFrom(...keys).map((keyId) => ({ ...hold, keyId }));
}

it('what members hold in a month is the sum of their single holds, whoever asks when, of keys that are known and of no others', () => {
  fc.assert(
    fc.property(fc.array(memberStep, { maxLength: 80, size: 'max' }), (steps) => {
      const [holds, model, known] = [new Holds(), new Model(), new Set<KeyId>()];
      const memberOf = (key: KeyId): string | null => (!known.has(key) ? null : key === K2 ? 'ben' : 'ada');
      for (const one of [...steps, { type: 'ask' } as const]) {
        if (one.type === 'know') known.add(one.key);
        else if (one.type === 'ask')
          for (const account of [A, B])
            for (const month of [MAY, JUNE])
              for (const member of ['ada', 'ben'])
                expect(holds.ofMemberMonth(account, { member, month }, memberOf)).toBe(
                  model.sum((of) => of.accountId === account && of.month === month && memberOf(of.keyId) === member),
                );
        else if (one.type !== 'place' || !model.held.has(one.id)) {
          perform(holds, one);
          model.apply(one);
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('whose a key is is asked once, as long as anything is held in its month', () => {
  const holds = new Holds();
  let asked = 0;
  const held = (month = MAY): bigint =>
    holds.ofMemberMonth(A, { member: 'ada', month }, () => {
      asked++;
      return 'ada';
    });
  expect(held()).toBe(0n);
  for (let at = 0; at < 1_000; at++) holds.place(requestId(`req_${at}`), hold(1n, { keyId: keyId(`key_${at}`) }));
  expect([held(), asked]).toEqual([1_000n, 1_000]);
  holds.place(requestId('req_again'), hold(7n, { keyId: keyId('key_3') }));
  expect([held(), held(JUNE), asked]).toEqual([1_007n, 0n, 1_000]);
  for (let at = 0; at < 1_000; at++) holds.release(requestId(`req_${at}`));
  expect([held(), asked]).toEqual([7n, 1_000]);
  holds.release(requestId('req_again'));
  holds.place(one, hold(1n));
  expect([held(), asked]).toEqual([1n, 1_001]);
});
