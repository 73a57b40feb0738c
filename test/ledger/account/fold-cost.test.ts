import { expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { keyId } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { entryOf } from '../../../ledger/account/keyed-tree.ts';
import {
  CARD,
  granted,
  keyIssued,
  limitSet,
  memberLimitSet,
  openAccount,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { beyond, fieldsCopied, lifeWithExceptions } from '../../fixtures/ledger/many-exceptions.ts';
import { lifeWithKeys } from '../../fixtures/ledger/many-keys.ts';

const EACH = 3_000;
const NEXT = 2 * EACH + 1;
/** Of an account with nothing it is some 50; each node of a tree has five, and some 30 are on a way down to it. */
const FIELDS_MAX = 500;

const recovered = usageOf(NEXT, 0, { outcome: 'recovered', source: 'estimated', billable: false });
const ending = (type: 'ApproveException' | 'DropException'): AccountCommand => ({
  ...{ type, requestId: requestOf(EACH / 2), reason: 'x', actor: 'operator' },
});

const account = openAccount(lifeWithExceptions(EACH));

function eventsOf(state: OpenAccount, command: AccountCommand): AccountEvent[] {
  const decided = decide(command, state);
  if ('type' in decided) throw new Error(decided.message);
  return decided;
}

test.each<[string, OpenAccount, AccountEvent[]]>([
  ['a request', account, eventsOf(account, { type: 'RecordUsage', usage: usageOf(NEXT, 7), card: CARD })],
  ['a request beyond its hold', account, eventsOf(account, { type: 'RecordUsage', usage: beyond(NEXT), card: CARD })],
  ['an approval', account, eventsOf(account, ending('ApproveException'))],
  ['a drop', account, eventsOf(account, ending('DropException'))],
  ['a grant', account, [granted('another', 5)]],
  ['a limit', account, [limitSet(100)]],
  [
    'late usage',
    account,
    [
      ...eventsOf(account, { type: 'RecordUsage', usage: recovered, card: CARD }),
      ...eventsOf(account, { type: 'ReportLateUsage', usage: usageOf(NEXT, 7), card: CARD }),
    ],
  ],
])('%s copies little of an account with thousands of exceptions, open and ended', (_what, before, events) => {
  expectLittleCopied(before, events);
});

const withKeys = openAccount(lifeWithKeys(4_000));
const [OLD, NEWEST] = [keyId('key_7'), keyId('key_3999')];
const ofKey = (usage: ReturnType<typeof usageOf>): AccountEvent[] =>
  eventsOf(withKeys, { type: 'RecordUsage', usage: { ...usage, keyId: NEWEST }, card: CARD });

test.each<[string, AccountEvent[]]>([
  ['a request', ofKey(usageOf(1, 7))],
  ['a request beyond its hold', ofKey(beyond(1))],
  ['a new key', [keyIssued({ keyId: keyId('key_another'), monthlyLimit: usd(7) })]],
  [
    'a rotation',
    eventsOf(withKeys, {
      ...{ type: 'RotateKey', keyId: NEWEST, sha256: 'b7'.repeat(32), last4: 'new1', overlapMs: 0, by: 'x', nowMs: 1 },
      endsPrevious: false,
    }),
  ],
  ['a revocation', eventsOf(withKeys, { type: 'RevokeKey', keyId: NEWEST, nowMs: 1 })],
  ["a key's limit", [limitSet(100, OLD)]],
  ["the end of a key's limit", [limitSet(null, OLD)]],
])('%s copies little of an account with thousands of keys, each with a limit and spending', (_what, events) => {
  expectLittleCopied(withKeys, events);
});

test('a request copies as little where the member whose all of them are has a limit', () => {
  const limited = evolve(withKeys, memberLimitSet(100_000, withKeys.email));
  expect(entryOf(limited.spend.months['2026-11']?.members ?? null, withKeys.email)).toBe(4_000n * 7n);
  expectLittleCopied(
    limited,
    eventsOf(limited, { type: 'RecordUsage', usage: usageOf(1, 7, { keyId: NEWEST }), card: CARD }),
  );
});

function expectLittleCopied(before: OpenAccount, events: readonly AccountEvent[]): void {
  expect(events.length).toBeGreaterThan(0);
  let state = before;
  for (const event of events) {
    const after = evolve(state, event);
    expect(fieldsCopied(state, after)).toBeLessThan(FIELDS_MAX);
    state = after;
  }
}
