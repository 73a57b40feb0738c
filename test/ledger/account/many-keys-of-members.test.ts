import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { type KeyId, keyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { evolveOwn, OwnParts } from '../../../ledger/account/evolve-own.ts';
import type { KeyedTree } from '../../../ledger/account/keyed-tree.ts';
import { freeCredit } from '../../../ledger/account/leases.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import type { BalanceView } from '../../../projections/balance-view.ts';
import { SpendLimits } from '../../../projections/spend-limits.ts';
import { heldOfMember } from '../../../proxy/admission/money-gate.ts';
import { Holds } from '../../../proxy/holds.ts';
import {
  ACCOUNT,
  CARD,
  granted,
  keyIssued,
  memberLimitSet,
  openAccount,
  requestOf,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { BEN, organization } from '../../fixtures/ledger/example-organization.ts';
import { ANY, leased, NOW } from './example-leases.ts';

const MONTH = '2026-11';
/** Three for each node on the way down a tree, of which there are some thirty at most, and five for each that is copied. */
const ASKED_MAX = 500;
const keyOf = (at: number): KeyId => keyId(`key_${at}`);

/** The same tree, which counts how often a node of it is asked for something. */
function counting<V>(tree: KeyedTree<V>, count: { asked: number }): KeyedTree<V> {
  if (tree === null) return null;
  const node = { ...tree, left: counting(tree.left, count), right: counting(tree.right, count) };
  return new Proxy(node, {
    get: (of, field) => {
      count.asked++;
      return Reflect.get(of, field);
    },
  });
}

/** So many keys, each of which has spent and holds something; what is asked of the account's trees for each of these. */
function askedWith(keys: number, isEach: boolean): number[] {
  const memberAt = (at: number): string => (isEach ? `${at}@example.com` : BEN);
  const events: AccountEvent[] = [organization, granted('g', 1_000_000), memberLimitSet(900_000, memberAt(7))];
  for (let at = 0; at < keys; at++)
    events.push(keyIssued({ keyId: keyOf(at), sha256: `${at}`.padStart(64, '0'), member: memberAt(at) }));
  let whole = openAccount([...events, leased(50, { keyId: keyOf(3) })]);
  for (let at = 0; at < keys; at++)
    whole = recordUsage(whole, usageOf(at + 1, 3, { keyId: keyOf(at) }), CARD).reduce<OpenAccount>(evolve, whole);
  const count = { asked: 0 };
  const month = whole.spend.months[MONTH];
  if (month === undefined) throw new Error('nothing was spent');
  const counted = { ...month, keys: counting(month.keys, count), members: counting(month.members, count) };
  const spend = { ...whole.spend, months: { [MONTH]: counted } };
  const state: OpenAccount = { ...whole, spend, keys: counting(whole.keys, count) };
  const holds = new Holds();
  const hold = (at: number, amount: bigint): void => {
    const terms = { accountId: ACCOUNT, month: MONTH, leaseId: null, startedAtMs: NOW };
    holds.place(requestOf(at + 1_000_000 * Number(amount)), { ...terms, keyId: keyOf(at), amount: microUsd(amount) });
  };
  const limits = new SpendLimits({ read: () => ({ state }) } as unknown as Pick<BalanceView, 'read'>);
  const request = { accountId: ACCOUNT, account: state, keyId: keyOf(7) };
  const usage = usageOf(keys + 1, 3, { keyId: keyOf(7) });
  const own = new OwnParts();
  const asked = (work: () => void): number => {
    const before = count.asked;
    work();
    return count.asked - before;
  };
  const of = isEach ? 1 : keys;
  for (let at = 0; at < keys; at++) hold(at, 9n);
  expect(heldOfMember(request, MONTH, holds)).toBe(BigInt(9 * of));
  return [
    asked(() => {
      hold(7, 1n);
      expect(limits.ofMember(ACCOUNT, keyOf(7), MONTH)?.spent).toBe(BigInt(3 * of));
      expect(heldOfMember(request, MONTH, holds)).toBe(BigInt(9 * of + 1));
    }),
    asked(() =>
      expect(freeCredit(state, { ...ANY, keyId: keyOf(7) }, NOW)).toBe(BigInt(900_000 - 3 * of - (isEach ? 0 : 50))),
    ),
    asked(() => recordUsage(state, usage, CARD).reduce<OpenAccount>(evolve, state)),
    asked(() => recordUsage(state, usage, CARD).reduce((folded, event) => evolveOwn(folded, event, own), state)),
  ];
}

it.each([
  ['one member', false],
  ['a member each', true],
])(
  'an admission, a lease and a debit under a limit of a member go the way to a key, however many there are, of %s',
  (_of, isEach) => {
    const [few, many] = [askedWith(10, isEach), askedWith(1_000, isEach)];
    for (const asked of few) expect(asked).toBeGreaterThan(5);
    for (const asked of many) expect(asked).toBeLessThan(ASKED_MAX);
  },
);
