import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  opened,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { type Case, manyGrants } from './account-faults.ts';

/** Corrections that the decider would have refused, and that stand in the stream all the same (refusals.test.ts). */

const AT = '2026-11-20T10:00:00.000Z';
const NOW = ms(AT);
const PAYMENT = paymentId('pi_1');
const BOUGHT = { attemptId: attemptId('purchase_1'), provider: 'manual' };
const SAID = { reason: 'an operator says so', actor: 'operator' };

const begun = [opened, granted('g1', 1_000)];
const revoke = (change: Partial<CommandOf<'RevokeGrant'>> = {}): AccountCommand => ({
  ...{ type: 'RevokeGrant', revocationId: 'r1', grantId: grantId('g1'), amount: usd(300), cause: 'administration' },
  ...{ paymentId: null, ...SAID, nowMs: NOW },
  ...change,
});
const restore = (change: Partial<CommandOf<'RestoreGrant'>> = {}): AccountCommand => ({
  ...{ type: 'RestoreGrant', restorationId: 'b1', revocationId: 'r1', amount: null, ...SAID, nowMs: NOW },
  ...change,
});
const revoked = given(...begun).decided(revoke());
const restored = given(...begun, ...revoked).decided(restore());
/** What the event says instead. */
const saying = (events: readonly AccountEvent[], change: Readonly<Record<string, unknown>>): AccountEvent[] =>
  events.map((event) => ({ ...event, data: { ...event.data, ...change } }) as AccountEvent);

/** Of a thousand four hundred are spent, and reversed. */
const debited = lifeWith([opened, keyIssued(), granted('g1', 1_000)], usageOf(1, 400));
const debits = debited.filter((event) => event.type === 'CreditsDebited');
const reverse = (change: Partial<CommandOf<'ReverseDebit'>> = {}): AccountCommand => ({
  ...{ type: 'ReverseDebit', reversalId: 'x1', requestId: requestOf(1), amount: null, debits, ...SAID, nowMs: NOW },
  ...change,
});
const reversed = given(...debited).decided(reverse());

const adjust = (change: Partial<CommandOf<'AdjustBalance'>> = {}): AccountCommand => ({
  ...{ type: 'AdjustBalance', adjustmentId: grantId('a1'), direction: 'down', amount: usd(5), ...SAID, nowMs: NOW },
  ...change,
});
const adjusted = given(...begun).decided(adjust());

const suspended: AccountEvent = { type: 'AccountSuspended', data: { reason: 'dispute' } };

/** Of a hundred that end ten are spent, and revoked; the rest is over, and not written down. */
const ending = [opened, granted('g1', 100, { expiresAt: '2026-11-20T09:00:00.000Z' })];
const over = [...ending, ...given(...ending).decided(revoke({ amount: usd(10), nowMs: NOW - 7_200_000 }))];

/** All of a payment's credits were revoked before a refund of it, which takes none. */
const returned: AccountEvent[] = [
  ...begun,
  { type: 'PurchaseStarted', data: { ...BOUGHT, amount: usd(20), price: usd(20), by: 'operator', startedAt: AT } },
  { type: 'PaymentSucceeded', data: { ...BOUGHT, paymentId: PAYMENT, amount: usd(20), paidAt: AT } },
  granted(`payment_${PAYMENT}`, 20, { effectiveAt: AT }),
];
returned.push(
  ...given(...returned).decided(
    revoke({ revocationId: 'r2', grantId: grantId(`payment_${PAYMENT}`), amount: usd(20) }),
  ),
);
returned.push({
  type: 'PaymentRefunded',
  data: { paymentId: PAYMENT, refundId: 're_2', amount: usd(9), refundedAt: AT, reason: 'x' },
});

/** As many grants with long ids as one event could name, and all that is given back goes to them. */
function manyOwed(): AccountEvent[] {
  const spent = lifeWith([opened, keyIssued(), granted('g1', 200)], usageOf(1, 200));
  const owing = [...spent, ...given(...spent).decided(revoke({ amount: usd(200), cause: 'refund' }))];
  for (let number = 0; number < 110; number++) owing.push(granted(`h${number}${'g'.repeat(1_990)}`, 1));
  return owing;
}

const many = manyGrants();

export const CORRECTION_CASES = {
  RevokeGrant: [
    {
      ...{ refused: 'reason_missing', life: begun, command: revoke({ reason: ' ' }) },
      ...{ written: saying(revoked, { reason: ' ' }), fault: /^r1: without a reason$/ },
    },
    {
      ...{ refused: 'nothing', life: [...begun, ...revoked], command: revoke(), fault: /^r1: is made twice$/ },
      written: revoked,
    },
    {
      ...{ refused: 'id_reused', life: [...begun, ...revoked], command: revoke({ amount: usd(5) }) },
      ...{ written: given(...begun).decided(revoke({ amount: usd(5) })), fault: /^r1: is made twice$/ },
    },
    {
      ...{ refused: 'id_reused', life: returned, command: revoke({ revocationId: 're_2' }) },
      written: given(...begun).decided(revoke({ revocationId: 're_2' })),
      fault: /^re_2: is the id of a refund or a dispute, which revokes in its own command$/,
    },
    {
      ...{ refused: 'grant_not_found', life: begun, command: revoke({ grantId: grantId('none') }) },
      ...{
        written: saying(revoked, { grantId: grantId('none') }),
        fault: /^r1: revokes none, which was never granted$/,
      },
    },
    {
      ...{ refused: 'invalid_amount', life: begun, command: revoke({ amount: usd(0) }) },
      ...{ written: saying(revoked, { amount: usd(0), taken: usd(0) }), fault: /^r1: revokes nothing$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: begun, command: revoke({ amount: usd(1_001) }) },
      written: saying(revoked, { amount: usd(1_001), taken: usd(1_000), uncovered: usd(1) }),
      fault: /^r1: revokes of g1 is 0\.001001 USD, should be at most /,
    },
  ],
  RestoreGrant: [
    {
      ...{ refused: 'reason_missing', life: [...begun, ...revoked], command: restore({ reason: ' ' }) },
      ...{ written: saying(restored, { reason: ' ' }), fault: /^b1: without a reason$/ },
    },
    {
      ...{ refused: 'nothing', life: [...begun, ...revoked, ...restored], command: restore(), written: restored },
      fault: /^b1: is made twice$/,
    },
    {
      ...{ refused: 'id_reused', life: [...begun, ...revoked, ...restored], command: restore({ amount: usd(1) }) },
      ...{ written: saying(restored, { amount: usd(1) }), fault: /^b1: is made twice$/ },
    },
    {
      ...{
        refused: 'revocation_not_found',
        life: begun,
        command: restore(),
        written: saying(restored, { reinstated: [] }),
      },
      fault: /^b1: undoes r1, which there is not$/,
    },
    {
      ...{ refused: 'invalid_amount', life: [...begun, ...revoked], command: restore({ amount: usd(301) }) },
      ...{
        written: saying(restored, { amount: usd(301) }),
        fault: /^b1: gives back of r1 is 0\.000301 USD, should be at /,
      },
    },
    {
      ...{ refused: 'not_written_off', life: over, command: restore() },
      written: [
        {
          type: 'GrantRestored',
          data: {
            ...{ restorationId: 'b1', revocationId: 'r1', grantId: grantId('g1'), cause: 'administration' },
            ...{
              amount: usd(10),
              uncovered: usd(0),
              owedLess: usd(0),
              setOff: [],
              restoredAt: AT,
              ...SAID,
              balanceAfter: usd(100),
            },
            reinstated: [{ grantId: grantId('g1'), amount: usd(10), expiresAt: '2026-12-20T10:00:00.000Z' }],
          },
        },
      ],
      fault: /^b1: g1 is over, and what was left of it is not written down$/,
    },
    {
      ...{ refused: 'too_many_grants', life: manyOwed(), command: restore() },
      ...{ written: saying(restored, { cause: 'refund' }), fault: /^b1: what comes back is / },
    },
  ],
  ReverseDebit: [
    {
      ...{ refused: 'reason_missing', life: debited, command: reverse({ reason: ' ' }) },
      ...{ written: saying(reversed, { reason: ' ' }), fault: /^x1: without a reason$/ },
    },
    {
      ...{ refused: 'nothing', life: [...debited, ...reversed], command: reverse(), written: reversed },
      fault: /^x1: is made twice$/,
    },
    {
      ...{ refused: 'id_reused', life: [...debited, ...reversed], command: reverse({ amount: usd(1) }) },
      ...{ written: saying(reversed, { amount: usd(1) }), fault: /^x1: is made twice$/ },
    },
    {
      ...{
        refused: 'debit_not_found',
        life: [...begun, keyIssued()],
        command: reverse({ debits: [] }),
        written: reversed,
      },
      fault: /^x1: reverses a request that was not debited before: req_/,
    },
    {
      ...{ refused: 'account_changed', life: [...debited, ...reversed], command: reverse({ reversalId: 'x2' }) },
      ...{
        written: saying(reversed, { reversalId: 'x2' }),
        fault: /^x2: gives back of its request is 0\.000400 USD, /,
      },
    },
    {
      ...{ refused: 'invalid_amount', life: debited, command: reverse({ amount: usd(401) }) },
      ...{
        written: saying(reversed, { amount: usd(401) }),
        fault: /^x1: gives back of its request is 0\.000401 USD, /,
      },
    },
  ],
  AdjustBalance: [
    {
      ...{ refused: 'reason_missing', life: begun, command: adjust({ reason: ' ' }) },
      ...{ written: saying(adjusted, { reason: ' ' }), fault: /^a1: without a reason$/ },
    },
    {
      ...{ refused: 'nothing', life: [...begun, ...adjusted], command: adjust(), written: adjusted },
      fault: /^a1: is made twice$/,
    },
    {
      ...{ refused: 'id_reused', life: [...begun, ...adjusted], command: adjust({ amount: usd(1) }) },
      ...{ written: saying(adjusted, { amount: usd(1) }), fault: /^a1: is made twice$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: begun, command: adjust({ amount: usd(0) }) },
      ...{ written: saying(adjusted, { amount: usd(0) }), fault: /^a1: adjusts nothing$/ },
    },
    {
      ...{ refused: 'grant_exists', life: begun, command: adjust({ direction: 'up', adjustmentId: grantId('g1') }) },
      written: saying(given(...begun).decided(adjust({ direction: 'up' })), { adjustmentId: grantId('g1') }),
      fault: /^g1: granted twice$/,
    },
    {
      refused: 'too_many_grants',
      life: many.life,
      command: adjust({ direction: 'up', adjustmentId: grantId(many.more) }),
      written: saying(given(opened).decided(adjust({ direction: 'up' })), { adjustmentId: grantId(many.more) }),
      fault: /: one more than a debit could name$/,
    },
  ],
  SuspendAccount: [
    {
      ...{ refused: 'already_suspended', life: [...begun, suspended], written: [suspended] },
      command: { type: 'SuspendAccount', reason: 'dispute' },
      fault: /^suspended, and it is suspended already$/,
    },
    {
      ...{ refused: 'reason_missing', life: begun, command: { type: 'SuspendAccount', reason: ' ' } },
      ...{ written: [{ type: 'AccountSuspended', data: { reason: ' ' } }], fault: /^suspended without a reason$/ },
    },
  ],
  ReinstateAccount: [
    {
      ...{ refused: 'not_suspended', life: begun, command: { type: 'ReinstateAccount', reason: 'paid' } },
      written: [{ type: 'AccountReinstated', data: { reason: 'paid' } }],
      fault: /^reinstated, and it is not suspended$/,
    },
  ],
} as const satisfies Record<string, readonly Case[]>;
