import { expect, it } from 'vitest';
import type { StoredEvent } from '../../../ledger/audit/stored-event.ts';
import { accountBooks } from './account-books.ts';

const AT = '2026-11-01T00:00:00.000Z';

type Written = readonly [type: string, data: object, commandId?: string];
const faultsOf = (...written: readonly Written[]): readonly string[] => {
  const events = [OPENED, ...written].map(([type, data, commandId = 'c'], revision): StoredEvent => {
    return { revision, position: revision, id: `id_${revision}`, type, data, metadata: { recordedAt: AT, commandId } };
  });
  return accountBooks('acct_x', events, new Map()).faults;
};

const OPENED: Written = ['AccountOpened', { accountId: 'acct_x', kind: 'personal', email: 'x@example.com' }];
const begun: Written = [
  'PurchaseStarted',
  { attemptId: 'a', provider: 'manual', amount: '20', price: '18', startedAt: AT },
];
const paid = (change: object = {}): Written => [
  'PaymentSucceeded',
  { attemptId: 'a', provider: 'manual', paymentId: 'p', amount: '18', paidAt: AT, ...change },
];
const granted = (change: object = {}, commandId = 'c'): Written => [
  'CreditsGranted',
  {
    ...{ grantId: 'payment_p', source: 'purchase', amount: '20', costBasis: '18', priority: 100 },
    ...{ effectiveAt: AT, expiresAt: null, ...change },
  },
  commandId,
];

it('finds nothing wrong with a payment and its grant, also of an attempt that was given up', () => {
  expect(faultsOf(begun, paid(), granted())).toEqual([]);
  expect(faultsOf(begun, ['PaymentAbandoned', { attemptId: 'a' }], paid(), granted())).toEqual([]);
});

it('takes credits that begin as they are paid, not before they were asked for, and as programs of before wrote it, as that is told', () => {
  const [asked, made] = ['2026-10-31T23:00:00.000Z', '2026-10-31T23:30:00.000Z'];
  const early: Written = [begun[0], { ...begun[1], startedAt: asked }];
  for (const effectiveAt of [made, AT])
    expect(faultsOf(early, paid({ paidAt: made }), granted({ effectiveAt }))).toEqual([]);
  expect(faultsOf(early, paid({ paidAt: '2026-10-31T00:00:00.000Z' }), granted({ effectiveAt: asked }))).toEqual([]);
  for (const effectiveAt of ['2026-10-31T23:29:59.999Z', '2026-11-01T01:00:00.000Z'])
    expect(faultsOf(early, paid({ paidAt: made }), granted({ effectiveAt }))).toEqual([
      `payment_p: when its credits begin is ${effectiveAt}, should be ${made}`,
    ]);
});

it.each<[string, readonly Written[], string]>([
  ['that is granted to nobody', [begun, paid()], 'payment_p: paid, and not granted'],
  ['that another event follows', [begun, paid(), ['PlanChanged', { plan: 'x' }]], 'payment_p: paid, and not granted'],
  [
    'for more credits than were bought',
    [begun, paid(), granted({ amount: '21' })],
    'payment_p: amount of its CreditsGranted is 21',
  ],
  [
    'whose grant says another price',
    [begun, paid(), granted({ costBasis: '20' })],
    'costBasis of its CreditsGranted is 20',
  ],
  ['whose grant is called otherwise', [begun, paid(), granted({ grantId: 'g' })], 'grantId of its CreditsGranted is g'],
  [
    'whose grant has another source',
    [begun, paid(), granted({ source: 'plan' })],
    'source of its CreditsGranted is plan',
  ],
  [
    'whose grant is of another command',
    [begun, paid(), granted({}, 'd')],
    'the command of its CreditsGranted is d, should be c',
  ],
  ['at another provider', [begun, paid({ provider: 'x' }), granted()], 'a: where it was paid is x, should be manual'],
])('tells of a payment %s', (_what, written, fault) => {
  expect(faultsOf(...written)).toEqual([expect.stringContaining(fault)]);
});
