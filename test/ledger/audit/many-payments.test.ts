import { expect, it } from 'vitest';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import type { OwnGrant } from '../../../ledger/audit/burn-own.ts';

const AT = '2026-11-01T00:00:00.000Z';
const EACH = 2_000;
/** What is looked up by its id costs none; a grant's place among the others some two for each power of two of them. */
const READS_MAX = 60;

/** A map of which it is counted how often it is gone through. */
class CountedMap<K, V> extends Map<K, V> {
  reads = 0;

  override *[Symbol.iterator](): MapIterator<[K, V]> {
    for (const entry of super[Symbol.iterator]()) yield this.#count(entry);
  }

  override *values(): MapIterator<V> {
    for (const value of super.values()) yield this.#count(value);
  }

  #count<T>(value: T): T {
    this.reads += 1;
    return value;
  }
}

it('reads few of an account’s payments, refunds and grants for each further one', () => {
  const audit = new AccountAudit('acct_x', () => 'none');
  const [attempts, revocations, grants] = [new CountedMap(), new CountedMap(), [] as OwnGrant[]];
  let reads = 0;
  const get = (target: OwnGrant[], name: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(target, name);
  };
  Object.assign(audit.books, { attempts, revocations, grants: new Proxy(grants, { get }) });
  let revision = 0;
  const take = (type: string, data: object): void =>
    audit.take({ revision, position: revision++, id: `id_${revision}`, type, data });
  take('AccountOpened', { accountId: 'acct_x', openedAt: AT, kind: 'personal', email: 'a@example.com' });
  for (let number = EACH; number < 2 * EACH; number++) {
    const [paymentId, refundId, grantId] = [`T${number}`, `r${number}`, `payment_T${number}`];
    const bought = { attemptId: `p${number}`, provider: 'manual', amount: '10' };
    take('PurchaseStarted', { ...bought, price: '10' });
    take('PaymentSucceeded', { ...bought, paymentId });
    const terms = { priority: 100, effectiveAt: AT, expiresAt: null };
    take('CreditsGranted', { grantId, source: 'purchase', amount: '10', costBasis: '10', ...terms });
    take('PaymentRefunded', { paymentId, refundId, amount: '10' });
    const taken = { amount: '10', taken: '10', uncovered: '0', balanceAfter: '0', revokedAt: AT, reason: 'x' };
    take('GrantRevoked', { revocationId: refundId, grantId, cause: 'refund', paymentId, ...taken });
  }
  audit.end();
  expect(audit.books.faults).toEqual([]);
  expect(grants).toHaveLength(EACH);
  expect((reads + attempts.reads + revocations.reads) / EACH).toBeLessThan(READS_MAX);
});
