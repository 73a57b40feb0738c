import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { isAccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { isInStatements, isNoted } from '../../../ledger/statement/statement-entries.ts';
import { sentenceWithoutPayments } from '../../../ledger/statement/without-payments.ts';
import { GRANT } from '../../contracts/example-parts.ts';
import { EXAMPLE_EVENTS, exampleOf } from '../../fixtures/ledger/example-events.ts';

const BOUGHT = grantId('payment_pi_1');

/** The same of a grant that a payment has bought. */
const ofPayment = (value: unknown): unknown => {
  if (value === GRANT || value === 'grant-2') return BOUGHT;
  if (Array.isArray(value)) return value.map(ofPayment);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === 'adjustmentId' ? one : ofPayment(one)]),
  );
};
/** Of which an operator's own words are told to whoever may see the account, as `account show` does. */
const SUSPENSION: ReadonlySet<string> = new Set(['AccountSuspended', 'AccountReinstated']);
const SHOWN = EXAMPLE_EVENTS.filter(isAccountEvent).filter(
  ({ type }) => !SUSPENSION.has(type) && (isInStatements(type) || isNoted(type)),
);

it.each(SHOWN.map((event) => [event.type, event] as const))(
  'names no payment, no provider and nothing that went back: %s',
  (_type, event) => {
    expect(sentenceWithoutPayments(ofPayment(event) as AccountEvent, 'ops') ?? '').not.toMatch(
      /payment_|\b(pi|re|dp|pm|reload|renewal|upgrade)_|stripe|manual|refund|disput|declined|auto-reload|began to buy| paid at|USD paid/,
    );
  },
);

it('says of credits that were paid for, or whose money went back, only what moved', () => {
  const granted = exampleOf('CreditsGranted');
  const bought = { ...granted.data, source: 'purchase', costBasis: microUsd(9n), expiresAt: null } as const;
  const told = (data: typeof granted.data) => sentenceWithoutPayments({ ...granted, data }, 'ops');
  expect(told({ ...bought, grantId: BOUGHT })).toBe('purchased credits granted');
  expect(told(bought)).toBe('purchased credits granted by ops (grant-1)');
  expect(sentenceWithoutPayments(exampleOf('GrantRevoked'), 'ops')).toBe('credits revoked');
  expect(sentenceWithoutPayments(exampleOf('GrantRestored'), 'ops')).toBe('credits given back that were revoked');
  const revoked = exampleOf('GrantRevoked');
  expect(sentenceWithoutPayments({ ...revoked, data: { ...revoked.data, cause: 'fraud' } }, 'ops')).toMatch(
    /revoked credits of grant-1 \(fraud; /,
  );
});

it('says all else as it is, and of a period for nothing that it begins', () => {
  const expired = exampleOf('CreditsExpired');
  expect(sentenceWithoutPayments(expired, 'ops')).toMatch(/^what was left of grant-1 has expired at /);
  expect(sentenceWithoutPayments({ ...expired, data: { ...expired.data, grantId: BOUGHT } }, 'ops')).toMatch(
    /^what was left of credits that were paid for has expired at /,
  );
  const renewal = exampleOf('RenewalStarted');
  expect(sentenceWithoutPayments(renewal, 'ops')).toBeNull();
  expect(sentenceWithoutPayments({ ...renewal, data: { ...renewal.data, price: microUsd(0n) } }, 'ops')).toMatch(
    /^a period of plan .* begins, for nothing$/,
  );
});
