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
const begun: Written = ['PurchaseStarted', { attemptId: 'a', provider: 'manual', amount: '20', price: '18' }];
const paid = (change: object = {}): Written => [
  'PaymentSucceeded',
  { attemptId: 'a', provider: 'manual', paymentId: 'p', amount: '18', ...change },
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
