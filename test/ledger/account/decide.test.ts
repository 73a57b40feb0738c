import { describe, expect, test } from 'vitest';
import { grantId, keyId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { usableCredits } from '../../../ledger/account/grants.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  debitIn,
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
} from '../../fixtures/ledger/example-account.ts';

const NOW = '2026-11-06T00:00:00.000Z';
const LATE_MS = LIMITS.expiryLateMs;
const usd = (amount: number) => microUsd(BigInt(amount));

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
const grant: CommandOf<'GrantCredits'> = {
  type: 'GrantCredits',
  grantId: grantId('g1'),
  source: 'purchase',
  amount: usd(7),
  costBasis: usd(7),
  priority: 100,
  effectiveAtMs: ms(OPENED_AT),
  expiresAtMs: null,
};
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
    given().when(open).thenEvents(opened, trial);
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
    given()
      .when({ ...open, trial: usd(0) })
      .thenEvents(opened);
  });

  test('twice is refused', () => {
    given(opened)
      .when(open)
      .thenRefused('account_exists', /acme is open since 2026-11-05T10:00:00.000Z/);
  });
});

test.each<AccountCommand>([
  grant,
  issue,
  { type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) },
  { type: 'SetSpendLimit', keyId: null, limit: null },
  record(usageOf(1, 1)),
  { type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms(NOW) },
  { type: 'SuspendAccount', reason: 'x' },
  { type: 'ReinstateAccount', reason: 'x' },
])('$type is refused on an account that was never opened', (command) => {
  given().when(command).thenRefused('account_not_found');
});

describe('granting credits', () => {
  test('writes down what was granted', () => {
    given(opened).when(grant).thenEvents(granted('g1', 7));
  });

  test.each([0n, -1n])('of %d is refused', (amount) => {
    given(opened)
      .when({ ...grant, amount: microUsd(amount) })
      .thenRefused('invalid_amount', /^amount: /);
  });

  test('that expire when or before they take effect is refused', () => {
    const effectiveAtMs = ms(NOW);
    for (const expiresAtMs of [effectiveAtMs, effectiveAtMs - 1])
      given(opened)
        .when({ ...grant, effectiveAtMs, expiresAtMs })
        .thenRefused('invalid_period', /^expiresAt: /);
    given(opened)
      .when({ ...grant, effectiveAtMs, expiresAtMs: effectiveAtMs + 1 })
      .thenEvents(granted('g1', 7, { effectiveAt: NOW, expiresAt: '2026-11-06T00:00:00.001Z' }));
  });

  test('twice under one id is refused, also when the first is used up', () => {
    given(opened, granted('g1', 7)).when(grant).thenRefused('grant_exists');
    const usage = given(opened, granted('g1', 7))
      .when(record(usageOf(1, 7)))
      .events();
    given(opened, granted('g1', 7), ...usage)
      .when(grant)
      .thenRefused('grant_exists');
  });
});

describe('a key', () => {
  test('is issued with its limits', () => {
    given(opened)
      .when({ ...issue, expiresAtMs: ms(NOW) + 1, models: ['m'], monthlyLimit: usd(9) })
      .thenEvents(keyIssued({ expiresAt: '2026-11-06T00:00:00.001Z', models: ['m'], monthlyLimit: usd(9) }));
  });

  test('that would be expired already is refused', () => {
    given(opened)
      .when({ ...issue, expiresAtMs: ms(NOW) })
      .thenRefused('invalid_period', /^expiresAt: /);
  });

  test('is not issued twice under one id, also after it was revoked', () => {
    given(opened, keyIssued()).when(issue).thenRefused('key_exists');
    const revoked = given(opened, keyIssued())
      .when({ type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) })
      .events();
    given(opened, keyIssued(), ...revoked)
      .when(issue)
      .thenRefused('key_exists');
  });

  test('is revoked once', () => {
    const revoke: AccountCommand = { type: 'RevokeKey', keyId: KEY, nowMs: ms(NOW) };
    const revoked = { type: 'ApiKeyRevoked', data: { keyId: KEY, revokedAt: NOW } } as const;
    given(opened, keyIssued()).when(revoke).thenEvents(revoked);
    given(opened, keyIssued(), revoked)
      .when(revoke)
      .thenRefused('key_already_revoked', /2026-11-06T00:00:00.000Z/);
    given(opened, keyIssued())
      .when({ ...revoke, keyId: OTHER_KEY })
      .thenRefused('key_not_found');
  });

  // Key ids reach the decider from the operator's command line.
  test.each(['constructor', 'toString'])('that the account lacks is not found, also under the name %s', (id) => {
    given(opened)
      .when({ type: 'SetSpendLimit', keyId: keyId(id), limit: usd(5) })
      .thenRefused('key_not_found');
    given(opened)
      .when({ type: 'RevokeKey', keyId: keyId(id), nowMs: ms(NOW) })
      .thenRefused('key_not_found');
  });
});

describe('a spend limit', () => {
  test('is set for the account and for a key, and lifted again', () => {
    given(opened)
      .when({ type: 'SetSpendLimit', keyId: null, limit: usd(5) })
      .thenEvents(limitSet(5));
    given(opened, keyIssued())
      .when({ type: 'SetSpendLimit', keyId: KEY, limit: usd(0) })
      .thenEvents(limitSet(0, KEY));
    given(opened, limitSet(5)).when({ type: 'SetSpendLimit', keyId: null, limit: null }).thenEvents(limitSet(null));
    given(opened, keyIssued(), limitSet(5, KEY))
      .when({ type: 'SetSpendLimit', keyId: KEY, limit: null })
      .thenEvents(limitSet(null, KEY));
  });

  test('that is already so is not written again', () => {
    given(opened).when({ type: 'SetSpendLimit', keyId: null, limit: null }).thenEvents();
    given(opened, limitSet(5))
      .when({ type: 'SetSpendLimit', keyId: null, limit: usd(5) })
      .thenEvents();
    given(opened, keyIssued({ monthlyLimit: usd(5) }))
      .when({ type: 'SetSpendLimit', keyId: KEY, limit: usd(5) })
      .thenEvents();
  });

  test('of a key that the account lacks is refused', () => {
    given(opened)
      .when({ type: 'SetSpendLimit', keyId: KEY, limit: usd(5) })
      .thenRefused('key_not_found');
  });
});

describe('expiry', () => {
  const expiresAt = '2026-12-01T00:00:00.000Z';
  const grants = [
    granted('soon', 10, { expiresAt }),
    granted('never', 5),
    granted('later', 3, { expiresAt: '2027-01-01T00:00:00.000Z' }),
  ];
  const sweepAt = (nowMs: number) => given(opened, ...grants).when({ type: 'ExpireCredits', lateMs: LATE_MS, nowMs });

  test('is written down a stated time late, and not before', () => {
    sweepAt(ms(expiresAt)).thenEvents();
    sweepAt(ms(expiresAt) + LATE_MS - 1).thenEvents();
    sweepAt(ms(expiresAt) + LATE_MS).thenEvents({
      type: 'CreditsExpired',
      data: { grantId: grantId('soon'), amount: usd(10), expiredAt: expiresAt },
    });
  });

  test('is written down once, with what is left', () => {
    const used = given(opened, ...grants)
      .when(record(usageOf(1, 4)))
      .events();
    const sweep: AccountCommand = { type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms(expiresAt) + LATE_MS };
    const written = given(opened, ...grants, ...used)
      .when(sweep)
      .events();
    expect(written).toEqual([
      { type: 'CreditsExpired', data: { grantId: grantId('soon'), amount: usd(6), expiredAt: expiresAt } },
    ]);
    given(opened, ...grants, ...used, ...written)
      .when(sweep)
      .thenEvents();
  });

  test('of a grant that is used up is not written down', () => {
    const used = given(opened, ...grants)
      .when(record(usageOf(1, 10)))
      .events();
    given(opened, ...grants, ...used)
      .when({ type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms(expiresAt) + LATE_MS })
      .thenEvents();
  });

  test('needs no sweeper: what has expired is not burned though nobody has written it down', () => {
    const usage = usageOf(1, 4, { startedAt: expiresAt, finishedAt: expiresAt });
    const debit = debitIn(
      given(opened, ...grants)
        .when(record(usage))
        .events(),
    );
    expect(debit.grants.map((share) => share.grantId)).toEqual(['later', 'never']);
  });

  test('is decided by the start of the request, not by its end', () => {
    const usage = usageOf(1, 4, { startedAt: '2026-11-30T23:59:59.999Z', finishedAt: '2026-12-01T00:59:59.000Z' });
    const debit = debitIn(
      given(opened, ...grants)
        .when(record(usage))
        .events(),
    );
    expect(debit.grants).toEqual([{ grantId: 'soon', amount: 4n }]);
  });
});

describe('a suspension', () => {
  const suspended = { type: 'AccountSuspended', data: { reason: 'dispute' } } as const;
  const reinstated = { type: 'AccountReinstated', data: { reason: 'won' } } as const;

  test('is written once, and lifted once', () => {
    given(opened).when({ type: 'SuspendAccount', reason: 'dispute' }).thenEvents(suspended);
    given(opened, suspended)
      .when({ type: 'SuspendAccount', reason: 'again' })
      .thenRefused('already_suspended', /dispute/);
    given(opened, suspended).when({ type: 'ReinstateAccount', reason: 'won' }).thenEvents(reinstated);
    given(opened).when({ type: 'ReinstateAccount', reason: 'won' }).thenRefused('not_suspended');
    given(opened, suspended, reinstated).when({ type: 'ReinstateAccount', reason: 'won' }).thenRefused('not_suspended');
  });

  test('does not keep the ledger from recording what a request that was under way has used', () => {
    expect(
      debitIn(
        given(opened, granted('g', 9), suspended)
          .when(record(usageOf(1, 4)))
          .events(),
      ).amount,
    ).toBe(4n);
  });
});

test('deciding changes neither the state nor the command', () => {
  const freeze = <T>(value: T): T => {
    if (value !== null && typeof value === 'object') {
      for (const inner of Object.values(value)) freeze(inner);
      Object.freeze(value);
    }
    return value;
  };
  const { state } = given(opened, granted('g', 9, { expiresAt: NOW }), keyIssued(), limitSet(1));
  const commands: AccountCommand[] = [
    grant,
    issue,
    record(usageOf(1, 4)),
    { type: 'ExpireCredits', lateMs: LATE_MS, nowMs: ms('2027-01-01T00:00:00.000Z') },
  ];
  for (const command of commands) expect(() => decide(freeze(command), freeze(state))).not.toThrow();
});
