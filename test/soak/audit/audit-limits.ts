import type { AccountBooks } from '../../crash/audit/account-books.ts';
import { SOAK_ACCOUNTS } from '../soak-accounts.ts';

const MICRO_PER_CENT = 10_000n;

/** Nobody has spent above its monthly limits, which stood before its first request and never changed. */
export function auditLimits({ accountId, months }: AccountBooks): string[] {
  const account = SOAK_ACCOUNTS.find(({ id }) => id === accountId);
  const monthly = microUsdOf(account?.monthlyLimitUsd ?? null);
  const ofKey = microUsdOf(account?.keyLimitUsd ?? null);
  const faults: string[] = [];
  for (const [month, spent] of months) {
    if (monthly !== null && spent.account > monthly)
      faults.push(`${accountId}: spent ${spent.account} in ${month}, above its limit of ${monthly}`);
    for (const [key, amount] of spent.keys)
      if (ofKey !== null && amount > ofKey)
        faults.push(`${accountId}: ${key} spent ${amount} in ${month}, above its limit of ${ofKey}`);
  }
  return faults;
}

/** Limits of the soak are whole cents. */
function microUsdOf(usd: string | null): bigint | null {
  if (usd === null) return null;
  const [whole = '0', cents = '00'] = usd.split('.');
  return (BigInt(whole) * 100n + BigInt(cents)) * MICRO_PER_CENT;
}
