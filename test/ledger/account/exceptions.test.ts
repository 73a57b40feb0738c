import { describe, expect, test } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent, EventData, UsageRecorded } from '../../../contracts/events.ts';
import { accountStream, commandOfRequest } from '../../../contracts/ids.ts';
import { picoUsd } from '../../../contracts/money.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { amountOfException, endOfException, openException } from '../../../ledger/account/exceptions.ts';
import type { ExceptionsState } from '../../../ledger/account/exceptions-state.ts';
import { entriesOf } from '../../../ledger/account/keyed-tree.ts';
import { refuseAppend } from '../../../ledger/event-log/append-bounds.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  CARD,
  debitIn,
  granted,
  KEY,
  keyIssued,
  lifeWith as lifeAfter,
  limitSet,
  OPENED_AT,
  openAccount,
  opened,
  record,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { lifeWithExceptions } from '../../fixtures/ledger/many-exceptions.ts';

const account = [opened, granted('g', 1_000), keyIssued()] as const;
const held = (number: number, output: number, hold: number, change: Partial<UsageRecorded> = {}) =>
  usageOf(number, output, { hold: usd(hold), ...change });
const lifeWith = (...usages: readonly UsageRecorded[]) => lifeAfter(account, ...usages);
const approve = (number = 1, reason = 'it did'): AccountCommand => ({
  type: 'ApproveException',
  requestId: requestOf(number),
  reason,
  actor: 'operator',
});
const drop = (number = 1, reason = 'cannot be'): AccountCommand => ({
  type: 'DropException',
  requestId: requestOf(number),
  reason,
  actor: 'operator',
});
const late = (usage: UsageRecorded): AccountCommand => ({ type: 'ReportLateUsage', usage, card: CARD });
const recovered = usageOf(1, 0, { outcome: 'recovered', source: 'estimated', billable: false });

const openIn = ({ open }: ExceptionsState) => Object.fromEntries(entriesOf(open));
const NONE_OPEN = { open: null, openCount: 0, openAmount: 0n, withoutCost: 0 };

describe('a debit', () => {
  test('is at most the hold, keeps the exact cost and its lines, and says what was left out', () => {
    const debit = debitIn(lifeWith(held(1, 70, 20)));
    expect(debit).toMatchObject({
      cost: 70_000_000n,
      lines: [{ tokenClass: 'output', tokens: 70, cost: 70_000_000n }],
      amount: 20n,
      leftOut: 50n,
      grants: [{ grantId: 'g', amount: 20n }],
      balanceAfter: 980n,
      monthToDateAfter: 20n,
    });
  });

  test('of what cannot be is the hold, and its cost is exact all the same', () => {
    const usage = held(1, 0, 20, { tokens: { ...NO_TOKENS, output: Number.MAX_SAFE_INTEGER } });
    expect(debitIn(lifeWith(usage))).toMatchObject({
      cost: 9_007_199_254_740_991_000_000n,
      amount: 20n,
      leftOut: 9_007_199_254_740_971n,
    });
  });

  test('carries the same part of a micro-USD with a cap and without one', () => {
    const tokens = { ...NO_TOKENS, input: 30_000, output: 3 };
    const life = lifeWith(held(1, 0, 2, { tokens }), held(2, 0, 20, { tokens: { ...NO_TOKENS, input: 20_000 } }));
    const [first, second] = life.flatMap((event) => (event.type === 'CreditsDebited' ? [event.data] : []));
    expect(first).toMatchObject({ amount: 2n, leftOut: 1n, carryAfter: 600_000n });
    expect(second).toMatchObject({ amount: 1n, leftOut: 0n, carryBefore: 600_000n, carryAfter: 0n });
  });

  test('of exactly the hold leaves nothing out', () => {
    const life = lifeWith(held(1, 20, 20));
    expect(debitIn(life)).toMatchObject({ amount: 20n, leftOut: 0n });
    expect(openAccount(life).exceptions.open).toBeNull();
  });
});

describe('an exception', () => {
  test('arises from what the hold left out, with the instants of the request', () => {
    const { exceptions } = openAccount(lifeWith(held(1, 70, 20)));
    expect(openIn(exceptions)).toEqual({
      [requestOf(1)]: {
        requestId: requestOf(1),
        keyId: KEY,
        model: 'opal-medium',
        lane: 'standard',
        startedAtMs: Date.parse('2026-11-06T12:00:00.000Z'),
        finishedAtMs: Date.parse('2026-11-06T12:00:01.000Z'),
        leftOut: 50n,
        late: null,
        unpriced: [],
      },
    });
  });

  test('arises from what has no price, also where nothing is debited, and is one with what was left out', () => {
    const unpriced = ['service_tier: batch'];
    const { exceptions } = openAccount(
      lifeWith(held(1, 70, 20, { unpriced }), held(2, 70, 20, { unpriced, billable: false })),
    );
    expect(openIn(exceptions)).toMatchObject({
      [requestOf(1)]: { leftOut: 50n, unpriced },
      [requestOf(2)]: { leftOut: 0n, unpriced },
    });
    expect(exceptions).toMatchObject({ openCount: 2, openAmount: 50n, withoutCost: 1 });
  });

  test('arises from usage of a request that is recorded as recovered already, once', () => {
    const usage = held(1, 30, 40);
    const life = lifeWith(recovered);
    const reported = given(...life).decided(late(usage));
    expect(reported).toEqual([
      {
        type: 'LateUsageReported',
        data: {
          requestId: requestOf(1),
          usage,
          cost: 30_000_000n,
          lines: [{ tokenClass: 'output', tokens: 30, rate: 1_000_000n, cost: 30_000_000n }],
          uses: [],
        },
      },
    ]);
    const { exceptions, balance } = openAccount([...life, ...reported]);
    expect(openException(exceptions, requestOf(1))).toMatchObject({ late: 30_000_000n, leftOut: 0n });
    expect(balance).toBe(1_000n);
    given(...life, ...reported).decides(late(usage));
  });

  test('of late usage that is not charged has no money in it; usage that saw nothing is none', () => {
    const life = lifeWith(recovered);
    const [event] = given(...life).decided(late(usageOf(1, 30, { billable: false, outcome: 'upstream_interrupted' })));
    expect(event?.data).toMatchObject({ cost: 0n });
    given(...life).decides(late(recovered));
  });

  test('that has ended does not come again with the same late usage', () => {
    const reported = lifeWith(recovered);
    const take = (command: AccountCommand) => reported.push(...given(...reported).decided(command));
    take(late(held(1, 30, 40)));
    take(approve());
    given(...reported).decides(late(held(1, 30, 40)));
  });

  test('without money is kept a thousand times an account, and then counted; one with money is always kept', () => {
    const state = openAccount(account);
    const full = { ...state, exceptions: { ...state.exceptions, withoutCost: 1_000 } };
    const recordOn = (usage: UsageRecorded) => given(...account).decided(record(usage));
    const folded = openAccount(recordOn(held(1, 70, 20, { unpriced: ['service_tier: batch'] })), full);
    expect(folded.exceptions).toMatchObject({ withoutCost: 1_000, unlisted: 1 });
    expect(amountOfException(openException(folded.exceptions, requestOf(1)) ?? none())).toBe(50n);
  });
});

const none = (): never => {
  throw new Error('no exception');
};

describe('an exception that is approved', () => {
  const life = lifeWith(held(1, 70, 20));

  test('debits what was left out, with all that a debit says', () => {
    const data: EventData<'ExceptionApproved'> = {
      requestId: requestOf(1),
      keyId: KEY,
      model: 'opal-medium',
      lane: 'standard',
      cost: picoUsd(50_000_000n),
      amount: usd(50),
      carryBefore: picoUsd(0n),
      carryAfter: picoUsd(0n),
      grants: [{ grantId: 'g' as never, amount: usd(50) }],
      uncovered: usd(0),
      balanceAfter: usd(930),
      month: '2026-11',
      monthToDateAfter: usd(70),
      keyMonthToDateAfter: usd(70),
      reason: 'it did',
      actor: 'operator',
    };
    given(...life).decides(approve(), { type: 'ExceptionApproved', data });
    const after = openAccount([...life, { type: 'ExceptionApproved', data }]);
    expect(after).toMatchObject({ balance: 930n, exceptions: { ...NONE_OPEN } });
    expect(endOfException(after.exceptions, requestOf(1))).toBe('approved');
    expect(after.spend.months['2026-11']).toMatchObject({ account: 70n, keys: { key: KEY, value: 70n } });
  });

  test("takes the account's carry along", () => {
    const carried = lifeWith(held(1, 70, 20), held(2, 0, 20, { tokens: { ...NO_TOKENS, input: 30_000 } }), recovered3);
    const reported = given(...carried).decided(late(held(3, 0, 20, { tokens: { ...NO_TOKENS, input: 30_000 } })));
    const [event] = given(...carried, ...reported).decided(approve(3));
    expect(event?.data).toMatchObject({ cost: 600_000n, carryBefore: 600_000n, amount: 1n, carryAfter: 200_000n });
  });

  test('burns what was usable at the start and the end of its request; the rest is uncovered', () => {
    const grants = [
      granted('start', 25, { expiresAt: '2026-11-06T12:00:00.500Z' }),
      granted('end', 10, { effectiveAt: '2026-11-06T12:00:00.900Z' }),
      granted('gone', 90, { expiresAt: '2026-11-06T11:59:59.999Z' }),
    ];
    const before = [opened, ...grants, keyIssued()];
    const recorded = given(...before).decided(record(held(1, 70, 20)));
    const [event] = given(...before, ...recorded).decided(approve());
    expect(event?.data).toMatchObject({
      grants: [
        { grantId: 'start', amount: 5n },
        { grantId: 'end', amount: 10n },
      ],
      uncovered: 35n,
    });
  });

  test('counts in the month in which its request started, however late it ended', () => {
    const startedAt = '2026-10-31T23:59:59.000Z';
    const over = lifeWith(held(1, 70, 20, { startedAt, finishedAt: '2026-11-01T00:00:01.000Z' }));
    const [event] = given(...over).decided(approve());
    expect(event?.data).toMatchObject({ month: '2026-10', monthToDateAfter: 70n, keyMonthToDateAfter: 70n });
  });

  test('crosses thresholds like any debit, once', () => {
    const limited = [...life, limitSet(100), limitSet(60, KEY)];
    const events = given(...limited).decided(approve());
    expect(events.slice(1).map(({ data }) => data)).toMatchObject([
      { scope: 'account', thresholdPercent: 50, spent: 70n },
      { scope: 'key', thresholdPercent: 50 },
      { scope: 'key', thresholdPercent: 80 },
      { scope: 'key', thresholdPercent: 100 },
    ]);
  });

  test('without money only ends', () => {
    const unpriced = lifeWith(held(1, 5, 20, { unpriced: ['service_tier: batch'] }));
    const [event, ...others] = given(...unpriced).decided(approve());
    expect(others).toEqual([]);
    expect(event?.data).toMatchObject({ cost: 0n, amount: 0n, grants: [], uncovered: 0n });
    expect(openAccount([...unpriced, event ?? none()]).exceptions).toMatchObject(NONE_OPEN);
  });
});

const recovered3 = usageOf(3, 0, { outcome: 'recovered', source: 'estimated', billable: false });

test('an exception that is dropped is never paid, and says what is given up', () => {
  const life = lifeWith(held(1, 70, 20));
  const dropped: AccountEvent = {
    type: 'ExceptionDropped',
    data: { requestId: requestOf(1), amount: usd(50), reason: 'cannot be', actor: 'operator' },
  };
  given(...life).decides(drop(), dropped);
  const after = openAccount([...life, dropped]);
  expect(after).toMatchObject({ balance: 980n, exceptions: { ...NONE_OPEN } });
  expect(endOfException(after.exceptions, requestOf(1))).toBe('dropped');
});

describe('many exceptions', () => {
  const life = lifeWith(held(1, 70, 20), held(2, 70, 20, { unpriced: ['service_tier: batch'] }), held(3, 70, 20));
  const all = (
    ending: 'ApproveException' | 'DropException',
    numbers: readonly number[],
    reason = 'all',
  ): AccountCommand => ({
    ...{ type: 'EndExceptions', ending, requestIds: numbers.map(requestOf), reason, actor: 'operator' },
  });

  test.each([
    ['ApproveException', approve],
    ['DropException', drop],
  ] as const)('end by one command as each would by its own: %s', (ending, end) => {
    const limited = [...life, limitSet(120)];
    const one = [...limited];
    for (const number of [3, 1]) one.push(...given(...one).decided(end(number, 'all')));
    given(...limited).decides(all(ending, [9, 3, 1]), ...one.slice(limited.length));
    given(...one).decides(all(ending, [1, 3]));
  });

  test('end by as many commands as they need appends', () => {
    const events = lifeWithExceptions(150);
    const numbers = Array.from({ length: 150 }, (_, index) => index + 1);
    const ended: number[] = [];
    // A character of which JSON makes six.
    for (const reason of ['\u007f'.repeat(500), '\u0001'.repeat(500)]) {
      const approved = given(...events).decided(all('ApproveException', numbers, reason));
      const recording = { commandId: commandOfRequest(requestOf(1)), actor: 'operator', recordedAt: OPENED_AT };
      const encoded = encodeEvents(approved, recording);
      expect(refuseAppend(accountStream(ACCOUNT), 0, encoded)).toBeNull();
      ended.push(approved.length);
      events.push(...approved);
    }
    expect(ended[0]).toBeGreaterThan(75);
    expect(ended).toEqual([ended[0], 150 - (ended[0] ?? 0)]);
  });
});

describe.each([
  ['approved', approve],
  ['dropped', drop],
])('an exception is not %s', (how, end) => {
  const life = lifeWith(held(1, 70, 20));

  test.each(['', '  '])('without a reason (%j)', (reason) => {
    given(...life).refuses(end(1, reason), 'reason_missing', /^reason: /);
  });

  test('where there is none, also under a name of the prototype', () => {
    given(...life).refuses(end(2), 'exception_not_found');
    given(...life).refuses({ ...end(1), requestId: 'constructor' as never } as AccountCommand, 'exception_not_found');
  });

  test('twice', () => {
    const ended = given(...life).decided(end());
    for (const again of [approve(), drop()])
      given(...life, ...ended).refuses(again, 'exception_ended', new RegExp(`already ${how}`));
  });
});
