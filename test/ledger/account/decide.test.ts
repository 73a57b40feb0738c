import { describe, expect, test } from 'vitest';
import { grantId, keyId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { deepFrozen } from '../../fixtures/deep-frozen.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  debitIn,
  grant as grantCommand,
  granted,
  KEY,
  keyIssued,
  limitSet,
  ms,
  OPENED_AT,
  OTHER_KEY,
  openAccount,
  opened,
  record,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';

const NOW = '2026-11-06T00:00:00.000Z';
const LATE_MS = LIMITS.expiryLateMs;

const open: CommandOf<'OpenAccount'> = {
  type: 'OpenAccount',
  accountId: ACCOUNT,
  kind: 'personal',
  email: 'owner@example.com',
  trial: usd(5_000_000),
  trialGrantId: grantId('trial-acme'),
  nowMs: ms(OPENED_AT),
};
const trial = granted('trial-acme', 5_000_000, {
  source: 'trial',
  costBasis: usd(0),
  priority: 0,
  effectiveAt: OPENED_AT,
  expiresAt: '2026-12-05T10:00:00.000Z',
});
const grant = grantCommand('g1', 7);
const issue: CommandOf<'IssueKey'> = {
  type: 'IssueKey',
  keyId: KEY,
  name: 'ci',
  sha256: 'a3'.repeat(32),
  last4: 'wxyz',
  issuer: 'owner@example.com',
  expiresAtMs: null,
  models: null,
  monthlyLimit: null,
  nowMs: ms(NOW),
};

describe('opening an account', () => {
  test('starts a trial of exactly 30 days to the second', () => {
    given().decides(open, opened, trial);
    expect(ms('2026-12-05T10:00:00.000Z') - ms(OPENED_AT)).toBe(30 * 86_400_000);
  });

  test('gives trial credits until the last millisecond of the 30 days, and none at expiresAt', () => {
    const { grants } = openAccount([opened, trial]);
    const end = ms(OPENED_AT) + 30 * 86_400_000;
    expect(usableCredits(grants, ms(OPENED_AT))).toBe(5_000_000n);
    expect(usableCredits(grants, end - 1)).toBe(5_000_000n);
    expect(usableCredits(grants, end)).toBe(0n);
    expect(usableCredits(grants, ms(OPENED_AT) - 1)).toBe(0n);
  });

  test('without a trial grants nothing', () => {
    given().decides({ ...open, trial: usd(0) }, opened);
  });

  test('twice is refused', () => {
    given(opened).refuses(open, 'account_exists', /acme is open since 2026-11-05T10:00:00.000Z/);
  });
});

test.each<AccountCommand>([
  grant,
  issue,
  { type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) },
  { type: 'SetSpendLimit', keyId: null, limit: null, nowMs: ms(NOW) },
  record(usageOf(1, 1)),
  { type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms(NOW) },
  { type: 'SuspendAccount', reason: 'x' },
  { type: 'ReinstateAccount', reason: 'x' },
])('$type is refused on an account that was never opened', (command) => {
  given().refuses(command, 'account_not_found');
});

describe('granting credits', () => {
  test('writes down what was granted', () => {
    given(opened).decides(grant, granted('g1', 7));
  });

  test.each([0n, -1n])('of %d is refused', (amount) => {
    given(opened).refuses({ ...grant, amount: microUsd(amount) }, 'invalid_amount', /^amount: /);
  });

  test('that expire when or before they take effect is refused', () => {
    const effectiveAtMs = ms(NOW);
    for (const expiresAtMs of [effectiveAtMs, effectiveAtMs - 1])
      given(opened).refuses({ ...grant, effectiveAtMs, expiresAtMs }, 'invalid_period', /^expiresAt: /);
    given(opened).decides(
      { ...grant, effectiveAtMs, expiresAtMs: effectiveAtMs + 1 },
      granted('g1', 7, { effectiveAt: NOW, expiresAt: '2026-11-06T00:00:00.001Z' }),
    );
  });

  test('twice is done already, also when it is used up, or over; another under its id is refused', () => {
    const life = [opened, granted('g1', 7)];
    const usage = given(...life).decided(record(usageOf(1, 7)));
    for (const lived of [life, [...life, ...usage]]) {
      given(...lived).decides({ ...grant, effectiveAtMs: ms(NOW) + 1 });
      for (const change of [
        ...[{ amount: usd(8) }, { source: 'promotion' }, { costBasis: usd(1) }, { priority: 7 }],
        { expiresAtMs: ms(NOW) + 1 },
      ] as const)
        given(...lived).refuses({ ...grant, ...change }, 'grant_exists', /^id: grant g1 was made before, /);
    }
    const expiresAt = '2026-11-07T00:00:00.000Z';
    const late = { ...grant, expiresAtMs: ms(expiresAt), effectiveAtMs: ms(expiresAt) + 1 };
    given(opened, granted('g1', 7, { expiresAt })).decides(late);
  });

  test('under the id of an adjustment is refused, also of the same amount', () => {
    const adjust = {
      adjustmentId: grantId('g1'),
      amount: usd(7),
      reason: 'goodwill',
      actor: 'operator',
      nowMs: ms(NOW),
    };
    const adjusted = given(opened).decided({ type: 'AdjustBalance', direction: 'up', ...adjust });
    const [made] = openAccount([opened, ...adjusted]).grants;
    if (made === undefined) throw new Error('nothing was granted');
    const { source, costBasis, priority, expiresAtMs } = made;
    if (source === 'trial') throw new Error('a trial was granted');
    given(opened, ...adjusted).refuses({ ...grant, source, costBasis, priority, expiresAtMs }, 'grant_exists');
  });

  test('under the id of a payment’s grant is refused, by an adjustment, too: that payment could not be written down', () => {
    const id = grantId('payment_pi_1');
    given(opened).refuses({ ...grant, grantId: id }, 'grant_id_reserved', /^id: payment_… .* choose another$/);
    const adjust = { adjustmentId: id, amount: usd(1), reason: 'goodwill', actor: 'operator', nowMs: ms(NOW) };
    given(opened).refuses({ type: 'AdjustBalance', direction: 'up', ...adjust }, 'grant_id_reserved', /^id: /);
  });
});

describe('a key', () => {
  test('is issued with its limits', () => {
    given(opened).decides(
      { ...issue, expiresAtMs: ms(NOW) + 1, models: ['m'], monthlyLimit: usd(9) },
      keyIssued({ expiresAt: '2026-11-06T00:00:00.001Z', models: ['m'], monthlyLimit: usd(9) }),
    );
  });

  test('that would be expired already is refused', () => {
    given(opened).refuses({ ...issue, expiresAtMs: ms(NOW) }, 'invalid_period', /^expiresAt: /);
  });

  test('is not issued twice under one id, also after it was revoked', () => {
    given(opened, keyIssued()).refuses(issue, 'key_exists');
    const revoked = given(opened, keyIssued()).decided({ type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) });
    given(opened, keyIssued(), ...revoked).refuses(issue, 'key_exists');
  });

  test('is revoked once', () => {
    const revoke: AccountCommand = { type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) };
    const revoked = { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: NOW } } as const;
    given(opened, keyIssued()).decides(revoke, revoked);
    given(opened, keyIssued(), revoked).refuses(revoke, 'key_already_revoked', /2026-11-06T00:00:00.000Z/);
    given(opened, keyIssued()).refuses({ ...revoke, keyId: OTHER_KEY }, 'key_not_found');
  });

  // Key ids reach the decider from the operator's command line.
  test.each(['constructor', 'toString'])('that the account lacks is not found, also under the name %s', (id) => {
    given(opened).refuses({ type: 'SetSpendLimit', keyId: keyId(id), limit: usd(5), nowMs: ms(NOW) }, 'key_not_found');
    given(opened).refuses({ type: 'RevokeKey', keyId: keyId(id), nowMs: ms(NOW) }, 'key_not_found');
  });
});

describe('a spend limit', () => {
  test('is set for the account and for a key, and lifted again', () => {
    given(opened).decides({ type: 'SetSpendLimit', keyId: null, limit: usd(5), nowMs: ms(NOW) }, limitSet(5));
    given(opened, keyIssued()).decides(
      { type: 'SetSpendLimit', keyId: KEY, limit: usd(0), nowMs: ms(NOW) },
      limitSet(0, KEY),
    );
    given(opened, limitSet(5)).decides(
      { type: 'SetSpendLimit', keyId: null, limit: null, nowMs: ms(NOW) },
      limitSet(null),
    );
    given(opened, keyIssued(), limitSet(5, KEY)).decides(
      { type: 'SetSpendLimit', keyId: KEY, limit: null, nowMs: ms(NOW) },
      limitSet(null, KEY),
    );
  });

  test('that is already so is not written again', () => {
    given(opened).decides({ type: 'SetSpendLimit', keyId: null, limit: null, nowMs: ms(NOW) });
    given(opened, limitSet(5)).decides({ type: 'SetSpendLimit', keyId: null, limit: usd(5), nowMs: ms(NOW) });
    given(opened, keyIssued({ monthlyLimit: usd(5) })).decides({
      type: 'SetSpendLimit',
      keyId: KEY,
      limit: usd(5),
      nowMs: ms(NOW),
    });
  });

  test('of a key that the account lacks is refused', () => {
    given(opened).refuses({ type: 'SetSpendLimit', keyId: KEY, limit: usd(5), nowMs: ms(NOW) }, 'key_not_found');
  });
});

describe('a suspension', () => {
  const suspended = { type: 'AccountSuspended', data: { reason: 'dispute' } } as const;
  const reinstated = { type: 'AccountReinstated', data: { reason: 'won' } } as const;

  test('is written once, and lifted once', () => {
    given(opened).decides({ type: 'SuspendAccount', reason: 'dispute' }, suspended);
    given(opened, suspended).refuses({ type: 'SuspendAccount', reason: 'again' }, 'already_suspended', /dispute/);
    given(opened, suspended).decides({ type: 'ReinstateAccount', reason: 'won' }, reinstated);
    given(opened).refuses({ type: 'ReinstateAccount', reason: 'won' }, 'not_suspended');
    given(opened, suspended, reinstated).refuses({ type: 'ReinstateAccount', reason: 'won' }, 'not_suspended');
  });

  test('does not keep the ledger from recording what a request that was under way has used', () => {
    expect(debitIn(given(opened, granted('g', 9), suspended).decided(record(usageOf(1, 4)))).amount).toBe(4n);
  });
});

test('deciding changes neither the state nor the command', () => {
  const { state } = given(opened, granted('g', 9, { expiresAt: NOW }), keyIssued(), limitSet(1));
  const commands: AccountCommand[] = [
    grant,
    issue,
    record(usageOf(1, 4)),
    { type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms('2027-01-01T00:00:00.000Z') },
  ];
  for (const command of commands) expect(() => decide(deepFrozen(command), deepFrozen(state))).not.toThrow();
});
