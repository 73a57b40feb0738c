import { type AccountBooks, compare, tell } from './own-account.ts';
import { noteKeyLimit } from './own-leases.ts';
import type { StoredEvent } from './stored-event.ts';

interface Opened {
  readonly accountId: string;
}
interface Issued {
  readonly keyId: string;
  readonly expiresAt: string | null;
  readonly monthlyLimit: string | null;
}
interface LimitSet {
  readonly scope: string;
  readonly keyId: string | null;
  readonly limit: string | null;
}

/** The others of an account: what moves money, which its audit looks at, and what is known to move none. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['UsageRecorded', 'CreditsDebited', 'PlanChanged', 'SpendThresholdCrossed'],
  ...['CreditsGranted', 'CreditsExpired', 'CreditsReinstated', 'CreditsLeased', 'LeaseReleased', 'LeaseNarrowed'],
  ...['LateUsageReported', 'ExceptionApproved', 'ExceptionDropped'],
]);

/** Tells of what no decision ever wrote: opened or suspended twice, a key that is not there, a limit that was so already. */
export function auditLife(books: AccountBooks, { type, data, metadata }: StoredEvent): void {
  const { life } = books;
  if (type !== 'AccountOpened' && !life.isOpen) {
    tell(books, `${type} on an account that was never opened`);
    life.isOpen = true;
  }
  switch (type) {
    case 'AccountOpened':
      if (life.isOpen) tell(books, 'the account is opened twice');
      compare(books, 'the account that is opened', (data as Opened).accountId, books.accountId);
      life.isOpen = true;
      break;
    case 'AccountSuspended':
    case 'AccountReinstated':
      if (life.isSuspended === (type === 'AccountSuspended'))
        tell(
          books,
          life.isSuspended ? 'suspended, and it is suspended already' : 'reinstated, and it is not suspended',
        );
      life.isSuspended = type === 'AccountSuspended';
      break;
    case 'ApiKeyIssued':
      takeKey(books, data as Issued, metadata?.recordedAt ?? null);
      break;
    case 'ApiKeyRevoked':
      revokeKey(books, (data as Issued).keyId);
      break;
    case 'SpendLimitSet':
      setLimit(books, data as LimitSet);
      break;
    default:
      // Another event could take money unseen.
      if (!KNOWN.has(type)) tell(books, `${type} is no event of an account`);
  }
}

function takeKey(books: AccountBooks, { keyId, expiresAt, monthlyLimit }: Issued, recordedAt: string | null): void {
  if (books.life.keys.has(keyId)) tell(books, `${keyId}: issued twice`);
  if (expiresAt !== null && recordedAt !== null && expiresAt <= recordedAt)
    tell(books, `${keyId}: had ended when it was issued`, expiresAt);
  books.life.keys.set(keyId, false);
  if (monthlyLimit !== null) books.limits.set(keyId, BigInt(monthlyLimit));
}

function revokeKey(books: AccountBooks, keyId: string): void {
  const { keys } = books.life;
  const isRevoked = keys.get(keyId);
  if (isRevoked === undefined) tell(books, `${keyId}: revoked, and was never issued`);
  else if (isRevoked) tell(books, `${keyId}: revoked twice`);
  keys.set(keyId, true);
}

function setLimit(books: AccountBooks, { scope, keyId, limit }: LimitSet): void {
  const whose = keyId ?? 'account';
  compare(books, `${whose}: scope of its limit`, scope, keyId === null ? 'account' : 'key');
  if (keyId !== null && !books.life.keys.has(keyId)) tell(books, `${keyId}: has a limit, and was never issued`);
  const before = books.limits.get(keyId) ?? null;
  if (String(before) === String(limit))
    tell(books, `${whose}: its limit is set to what it is already`, limit, null, 'micro-USD');
  if (keyId !== null) noteKeyLimit(books.leases, keyId, { before, after: limit });
  if (limit === null) books.limits.delete(keyId);
  else books.limits.set(keyId, BigInt(limit));
}
