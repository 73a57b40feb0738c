import type { Fault } from './fault.ts';
import { type AccountBooks, balanceOf, compare, compareAmount, type OwnException } from './own-account.ts';
import { hardLimit, textOfLimit } from './own-limits.ts';

/** What a view that somebody else has made says of an account at a revision: amounts as decimal text. */
export interface SeenFigures {
  readonly revision: number;
  readonly balance: string;
  readonly carry: string;
  readonly uncovered: string;
  readonly grants: readonly { readonly grantId: string; readonly remaining: string }[];
  /** By month: what the account spent, and each key. */
  readonly months: Readonly<
    Record<string, { readonly account: string; readonly keys: Readonly<Record<string, string>> }>
  >;
  readonly leases: readonly { readonly leaseId: string; readonly amount: string; readonly expiresAtMs: number }[];
  /** Hard monthly limits: the account's, null where it has none, and those of keys. */
  readonly accountLimit: string | null;
  readonly keyLimits: Readonly<Record<string, string>>;
  /** Of members, soft ones, and at which percents is told; null where there are none. */
  readonly otherLimits: {
    readonly members: Readonly<Record<string, string>>;
    readonly soft: Readonly<Record<string, string>>;
    readonly thresholds: Readonly<Record<string, readonly number[]>>;
  } | null;
  readonly keys: readonly { readonly keyId: string; readonly isRevoked: boolean }[];
  readonly isSuspended: boolean;
  readonly openExceptions: { readonly count: number; readonly unlisted: number; readonly amount: string };
  /** Pico-USD of all debits; null where it is not known. */
  readonly billed: string | null;
}

const PICO_PER_MICRO = 1_000_000n;

/** Compares the views with the auditor's books, which have come to the same revision. */
export function auditViews(books: AccountBooks, seen: SeenFigures): void {
  compareAmount(books, "the views' balance", seen.balance, balanceOf(books));
  compareAmount(books, "the views' carry", seen.carry, books.carry, 'pico-USD');
  compareAmount(books, 'what the views have as uncovered', seen.uncovered, books.uncovered);
  compareAll(
    books,
    "the views' grants",
    seen.grants.map((one) => `${one.grantId} ${one.remaining} micro-USD`),
    books.grants.map(({ grantId, remaining }) => `${grantId} ${remaining} micro-USD`),
  );
  compareAll(
    books,
    "the views' months",
    Object.entries(seen.months).flatMap(([month, { account, keys }]) => spent(month, account, Object.entries(keys))),
    [...books.months].flatMap(([month, { account, keys }]) => spent(month, account, [...keys])),
  );
  compareAll(
    books,
    "the views' leases",
    seen.leases.map(({ leaseId, amount, expiresAtMs }) => `${leaseId} ${amount} micro-USD until ${expiresAtMs}`),
    [...books.leases].map(([leaseId, { left, untilMs }]) => `${leaseId} ${left} micro-USD until ${untilMs}`),
  );
  compareAll(
    books,
    "the views' limits",
    seenLimits(seen),
    [...books.limits].map(([name, limit]) => textOfLimit(name, limit)),
  );
  compareAll(
    books,
    "the views' keys",
    seen.keys.map(({ keyId, isRevoked }) => keyText(keyId, isRevoked)),
    [...books.life.keys].map(([keyId, { isRevoked }]) => keyText(keyId, isRevoked)),
  );
  compare(books, 'whether it is suspended, as the views have it,', seen.isSuspended, books.life.isSuspended);
  compare(books, "the views' open exceptions", openText(seen.openExceptions), openText(openIn(books)));
  if (seen.billed !== null)
    compareAmount(
      books,
      'what the views have billed',
      seen.billed,
      books.exact - (books.leftOut + books.reversed) * PICO_PER_MICRO,
      'pico-USD',
    );
}

/** What views know of an account that the ledger does not have so far. @param end the stream's last revision; null where it is not there */
export function beyondTheEnd(stream: string, seen: number, end: number | null): Fault | null {
  if (end === null) return { stream, revision: null, what: 'stands in the views alone', found: null, expected: null };
  if (seen <= end) return null;
  return {
    stream,
    revision: end,
    what: 'the stream ends, and the views have come to revision',
    found: String(seen),
    expected: null,
  };
}

/** In no order of theirs. */
const compareAll = (books: AccountBooks, what: string, found: readonly string[], expected: readonly string[]): void =>
  compare(books, what, found.toSorted().join(', '), expected.toSorted().join(', '));

const spent = (month: string, account: unknown, keys: readonly (readonly [string, unknown])[]): string[] => [
  `${month} ${account} micro-USD`,
  ...keys.map(([keyId, amount]) => `${month} ${keyId} ${amount} micro-USD`),
];

/** As the books say theirs. */
function seenLimits({ accountLimit, keyLimits, otherLimits }: SeenFigures): string[] {
  const { members, soft, thresholds } = otherLimits ?? { members: {}, soft: {}, thresholds: {} };
  const hard = {
    ...(accountLimit === null ? {} : { account: accountLimit }),
    ...Object.fromEntries(Object.entries(members).map(([email, amount]) => [`member:${email}`, amount])),
    ...keyLimits,
  };
  const textOf = (name: string, amount: string, isHard: boolean): string => {
    const limit = hardLimit(amount);
    return textOfLimit(name.replace(/^member:/, 'member '), {
      ...limit,
      isHard,
      percents: thresholds[name] ?? limit.percents,
    });
  };
  return [
    ...Object.entries(hard).map(([name, amount]) => textOf(name, amount, true)),
    ...Object.entries(soft).map(([name, amount]) => textOf(name, amount, false)),
  ];
}

const keyText = (keyId: string, isRevoked: boolean): string => (isRevoked ? `${keyId} revoked` : keyId);

const openText = ({ count, unlisted, amount }: { count: number; unlisted: number; amount: string | bigint }): string =>
  `${count} of ${amount} micro-USD, and ${unlisted} beside them`;

function openIn({ exceptions, unlisted }: AccountBooks): { count: number; unlisted: number; amount: bigint } {
  const open = [...exceptions.values()].filter(({ ended }) => ended === null);
  return { count: open.length, unlisted, amount: open.reduce((sum, one) => sum + amountOf(one), 0n) };
}

const amountOf = ({ leftOut, late }: OwnException): bigint => (leftOut + (late ?? 0n)) / PICO_PER_MICRO;
