import { expect } from 'vitest';
import type { AccountEvent, CreditsDebited, UsageRecorded } from '../../../contracts/events.ts';

/**
 * An account's life recomputed from its events in the plainest way, sharing no code with the ledger: the exact cost is
 * summed up for ever and never carried, months are read off the text of the instant, the order of grants is that of a
 * text. Whatever the ledger wrote down is compared with it.
 */
interface PlainGrant {
  readonly id: string;
  readonly amount: bigint;
  left: bigint;
  readonly from: string;
  readonly until: string;
  readonly order: string;
}

const SHARE: Readonly<Record<string, bigint>> = { cacheRead: 10n, cacheWrite5m: 125n, cacheWrite1h: 200n };

export class PlainLedger {
  readonly #price: { readonly input: bigint; readonly output: bigint; readonly hasFast: boolean };
  readonly #grants: PlainGrant[] = [];
  readonly #spent = new Map<string, bigint>();
  readonly #crossed = new Set<string>();
  #usage: UsageRecorded | null = null;
  #exact = 0n;
  granted = 0n;
  expired = 0n;
  revoked = 0n;
  debited = 0n;
  uncovered = 0n;

  constructor(price: { readonly input: bigint; readonly output: bigint; readonly hasFast: boolean }) {
    this.#price = price;
  }

  get balance(): bigint {
    return this.granted - this.expired - this.revoked - this.debited;
  }

  get remaining(): ReadonlyMap<string, bigint> {
    return new Map(this.#grants.map(({ id, left }) => [id, left]));
  }

  get months(): ReadonlyMap<string, bigint> {
    return this.#spent;
  }

  /** What the exact sum of all costs has over what was debited, in pico-USD. */
  get behind(): bigint {
    return this.#exact - this.debited * 1_000_000n;
  }

  take(event: AccountEvent): void {
    if (event.type === 'CreditsGranted') this.#grant(event.data);
    else if (event.type === 'CreditsExpired') this.expired += this.#remove(event.data);
    else if (event.type === 'GrantRevoked') this.revoked += this.#remove(event.data);
    else if (event.type === 'UsageRecorded') this.#usage = event.data;
    else if (event.type === 'CreditsDebited') this.#debit(event.data);
    else if (event.type === 'SpendThresholdCrossed') {
      const told = `${event.data.keyId ?? 'account'} ${event.data.month} ${event.data.thresholdPercent}`;
      expect(this.#crossed, `told once: ${told}`).not.toContain(told);
      this.#crossed.add(told);
    }
  }

  #grant(data: Extract<AccountEvent, { type: 'CreditsGranted' }>['data']): void {
    const filled = data.amount < this.uncovered ? data.amount : this.uncovered;
    this.uncovered -= filled;
    this.granted += data.amount;
    const until = data.expiresAt ?? '9999';
    const order = [
      String(data.priority).padStart(4, '0'),
      until,
      data.costBasis === 0n ? 0 : 1,
      data.effectiveAt,
      data.grantId,
    ];
    this.#grants.push({
      id: data.grantId,
      amount: data.amount,
      left: data.amount - filled,
      from: data.effectiveAt,
      until,
      order: order.join('|'),
    });
  }

  #remove({ grantId, amount }: { readonly grantId: string; readonly amount: bigint }): bigint {
    const grant = this.#grants.find(({ id }) => id === grantId);
    if (grant === undefined) throw new Error(`no grant ${grantId}`);
    grant.left -= amount;
    expect(grant.left >= 0n, `${grantId} holds ${grant.left}`).toBe(true);
    return amount;
  }

  #debit(debit: CreditsDebited): void {
    const usage = this.#usage;
    this.#usage = null;
    if (usage === null) throw new Error('a debit without its usage before it');
    const cost = this.#costOf(usage);
    const before = this.#exact;
    this.#exact += cost;
    const amount = this.#exact / 1_000_000n - before / 1_000_000n;
    const shares = this.#burn(amount, usage.startedAt);
    const covered = shares.reduce((sum, share) => sum + share.amount, 0n);
    this.debited += amount;
    this.uncovered += amount - covered;
    const month = usage.startedAt.slice(0, 7);
    expect(debit).toMatchObject({
      requestId: usage.requestId,
      keyId: usage.keyId,
      cost,
      carryBefore: before % 1_000_000n,
      carryAfter: this.#exact % 1_000_000n,
      amount,
      grants: shares,
      uncovered: amount - covered,
      balanceAfter: this.balance,
      month,
      monthToDateAfter: this.#spend(month, amount),
      keyMonthToDateAfter: this.#spend(`${month} ${usage.keyId}`, amount),
    });
    expect(debit.lines.reduce((sum, line) => sum + line.cost, 0n)).toBe(cost);
  }

  #spend(scope: string, amount: bigint): bigint {
    const spent = (this.#spent.get(scope) ?? 0n) + amount;
    this.#spent.set(scope, spent);
    return spent;
  }

  #costOf({ tokens, lane }: UsageRecorded): bigint {
    const { input, output, hasFast } = this.#price;
    let percent = 0n;
    for (const [name, count] of Object.entries(tokens))
      percent += BigInt(count) * (name === 'output' ? output * 100n : input * (SHARE[name] ?? 100n));
    return (percent * (lane === 'fast' && hasFast ? 2n : 1n)) / 100n;
  }

  #burn(amount: bigint, at: string): { grantId: string; amount: bigint }[] {
    const shares: { grantId: string; amount: bigint }[] = [];
    let left = amount;
    for (const grant of this.#grants.toSorted((a, b) => (a.order < b.order ? -1 : 1))) {
      if (left === 0n || grant.left === 0n || at < grant.from || at >= grant.until) continue;
      const taken = grant.left < left ? grant.left : left;
      grant.left -= taken;
      left -= taken;
      shares.push({ grantId: grant.id, amount: taken });
    }
    return shares;
  }
}
