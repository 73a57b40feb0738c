import { describe, expect, test } from 'vitest';
import { grantId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, lifeWith, ms, openAccount, opened, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { leased } from './example-leases.ts';

const END = '2026-12-01T00:00:00.000Z';
const NOW = ms('2026-11-20T10:00:00.000Z');
const SAID = { reason: 'an operator says so', actor: 'ada' };
const revoke = (change: Partial<CommandOf<'RevokeGrant'>> = {}): CommandOf<'RevokeGrant'> => ({
  ...{ type: 'RevokeGrant', revocationId: 'r1', grantId: grantId('g1'), amount: null, cause: 'administration' },
  ...{ paymentId: null, ...SAID, nowMs: NOW },
  ...change,
});
const restore = (change: Partial<CommandOf<'RestoreGrant'>> = {}): CommandOf<'RestoreGrant'> => ({
  ...{ type: 'RestoreGrant', restorationId: 'b1', revocationId: 'r1', amount: null, ...SAID, nowMs: NOW },
  ...change,
});
const grantsIn = (events: Parameters<typeof openAccount>[0]) =>
  openAccount(events).grants.map(({ grantId, remaining, expiresAtMs }) => [grantId, remaining, expiresAtMs]);
const refund = { cause: 'refund', paymentId: 'pi_1' } as const;

/** Of ten seven are spent. */
const spent = lifeWith([opened, granted('g1', 10)], usageOf(1, 7));

describe('a revocation', () => {
  test('takes what is left of its grant, and says so', () => {
    const revoked = given(...spent).decided(revoke());
    expect(revoked).toMatchObject([
      { type: 'GrantRevoked', data: { amount: 3n, taken: 3n, uncovered: 0n, balanceAfter: 0n, ...SAID } },
    ]);
    expect(openAccount([...spent, ...revoked])).toMatchObject({ balance: 0n, uncovered: 0n });
    given(...spent, ...revoked).decides(revoke());
    given(...spent, ...revoked).refuses(revoke({ amount: usd(1) }), 'id_reused', /an id of its own$/);
  });

  test('for a refund or a dispute makes owed what is spent, up to what was granted; else there is nothing to take', () => {
    for (const cause of ['refund', 'dispute'] as const) {
      const revoked = given(...spent).decided(revoke({ cause, amount: usd(10) }));
      expect(revoked).toMatchObject([{ data: { taken: 3n, uncovered: 7n, balanceAfter: -7n } }]);
      expect(openAccount([...spent, ...revoked])).toMatchObject({ balance: -7n, uncovered: 7n });
      given(...spent).refuses(revoke({ cause, amount: usd(11) }), 'invalid_amount', /0\.000010 USD can be revoked/);
      given(...spent, ...revoked).refuses(revoke({ cause, amount: usd(1), revocationId: 'r2' }), 'invalid_amount');
    }
    for (const cause of ['fraud', 'administration'] as const)
      given(...spent).refuses(revoke({ cause, amount: usd(4) }), 'invalid_amount', /0\.000003 are left of it$/);
  });

  test('of a grant that is over finds nothing in it, whether that is written down or not', () => {
    const over = [opened, granted('g1', 10, { expiresAt: END })];
    const late = { nowMs: ms(END) + LIMITS.expiryLateMs };
    const expired = given(...over).decided({ type: 'ExpireCredits', lateMs: LIMITS.expiryLateMs, ...late });
    for (const life of [over, [...over, ...expired]]) {
      given(...life).refuses(revoke(late), 'invalid_amount', /^amount: must be more than 0; 0\.000000 USD are left/);
      expect(given(...life).decided(revoke({ ...late, ...refund, amount: usd(10) }))).toMatchObject([
        { data: { taken: 0n, uncovered: 10n } },
      ]);
    }
  });

  test('of another grant, amount, cause or payment under the id of one that was made is refused, and of none, too', () => {
    const revoked = given(...spent).decided(revoke({ ...refund, amount: usd(5) }));
    const account = given(...spent, ...revoked, granted('g2', 10));
    account.decides(revoke({ ...refund, amount: usd(5) }));
    account.decides(revoke(refund));
    for (const other of [{ grantId: grantId('g2') }, { amount: usd(4) }, { cause: 'fraud' }, { paymentId: 'pi_2' }])
      account.refuses(revoke({ ...refund, amount: usd(5), ...(other as object) }), 'id_reused');
    account.refuses(revoke({ revocationId: 'r2', grantId: grantId('none') }), 'grant_not_found', /no grant none$/);
  });
});

describe('what was revoked', () => {
  test('comes back whole, as it was, and not twice', () => {
    for (const [cause, amount] of [
      ['administration', 3],
      ['dispute', 10],
    ] as const) {
      const revoked = given(...spent).decided(revoke({ cause, amount: usd(amount) }));
      const restored = given(...spent, ...revoked).decided(restore());
      const [before, after] = [openAccount(spent), openAccount([...spent, ...revoked, ...restored])];
      expect([after.balance, after.uncovered, after.grants]).toEqual([before.balance, before.uncovered, before.grants]);
      const again = given(...spent, ...revoked, ...restored);
      again.decides(restore());
      again.refuses(restore({ restorationId: 'b2' }), 'invalid_amount', /0\.000000 have not come back$/);
      again.refuses(restore({ amount: usd(1) }), 'id_reused');
    }
  });

  test('comes back in parts: first what is owed for it', () => {
    const life = [...spent, ...given(...spent).decided(revoke({ ...refund, amount: usd(10) }))];
    const first = given(...life).decided(restore({ amount: usd(4) }));
    expect(first).toMatchObject([{ data: { uncovered: 4n, owedLess: 4n, reinstated: [], balanceAfter: -3n } }]);
    const second = given(...life, ...first).decided(restore({ restorationId: 'b2', amount: usd(5) }));
    expect(second).toMatchObject([
      { data: { uncovered: 3n, owedLess: 3n, reinstated: [{ grantId: 'g1', amount: 2n, expiresAt: null }] } },
    ]);
    expect(grantsIn([...life, ...first, ...second])).toEqual([['g1', 2n, null]]);
    given(...life, ...first, ...second).refuses(restore({ restorationId: 'b3', amount: usd(2) }), 'invalid_amount');
  });

  test('and was filled by others meanwhile comes back to grants from the last that burns on, those that are over last', () => {
    const life = [...spent, ...given(...spent).decided(revoke({ ...refund, amount: usd(10) }))];
    // What is owed, seven, is filled by four and three of others.
    const soon = { expiresAt: END };
    const filled = [...life, granted('a', 4, { ...soon, costBasis: usd(0) }), granted('z', 8, { priority: 200 })];
    expect(grantsIn(filled)).toEqual([
      ['a', 0n, ms(END)],
      ['g1', 0n, null],
      ['z', 5n, null],
    ]);
    const restored = given(...filled).decided(restore());
    expect(restored).toMatchObject([
      {
        data: {
          ...{ uncovered: 7n, owedLess: 0n },
          reinstated: [
            { grantId: 'z', amount: 3n },
            { grantId: 'g1', amount: 4n },
            { grantId: 'g1', amount: 3n },
          ],
        },
      },
    ]);
  });

  test('comes back to a grant that is over for thirty days, and what was left of it is written down first', () => {
    const ending = lifeWith([opened, granted('g1', 10, { expiresAt: END })], usageOf(1, 2));
    const life = [...ending, ...given(...ending).decided(revoke({ amount: usd(3) }))];
    const lateMs = ms(END) + LIMITS.expiryLateMsMin;
    given(...life).refuses(restore({ nowMs: lateMs - 1 }), 'not_written_off', /from 2026-12-01T02:00:00\.000Z on$/);
    const end = lateMs + 30 * 86_400_000;
    const restored = given(...life).decided(restore({ nowMs: lateMs }));
    expect(restored).toMatchObject([
      { type: 'CreditsExpired', data: { grantId: 'g1', amount: 5n, expiredAt: END } },
      { type: 'GrantRestored', data: { reinstated: [{ amount: 3n, expiresAt: new Date(end).toISOString() }] } },
    ]);
    expect(restored).toMatchObject([{}, { data: { balanceAfter: 3n } }]);
    expect(grantsIn([...life, ...restored])).toEqual([['g1', 3n, end]]);
    expect(openAccount([...life, ...restored]).balance).toBe(3n);
    // Requests under a lease may have begun before the end, unless it began behind it.
    const runs = (requestsFrom: string | null) => leased(1, { untilMs: lateMs + 1, requestsFrom });
    for (const from of [null, '2026-11-30T23:59:59.999Z'])
      given(...life, runs(from)).refuses(restore({ nowMs: lateMs }), 'not_written_off');
    expect(given(...life, runs(END)).decided(restore({ nowMs: lateMs }))).toHaveLength(2);
  });

  test('is what there is, and no more comes back: else the stream is broken', () => {
    given(...spent).refuses(restore(), 'revocation_not_found', /no revocation r1$/);
    const life = [...spent, ...given(...spent).decided(revoke())];
    const restored = given(...life).decided(restore());
    expect(() => fold([...spent, ...restored])).toThrow('no revocation r1');
    const more = restored.map((event) => ({ ...event, data: { ...event.data, owedLess: usd(1) } }) as never);
    expect(() => fold([...life, ...more])).toThrow('0 micro-USD are owed, not 1');
  });
});
