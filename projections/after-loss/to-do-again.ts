import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId } from '../../contracts/ids.ts';
import { USUAL_THRESHOLDS } from '../../contracts/limit-events.ts';
import { evolveAt } from '../../ledger/account/account-event.ts';
import { type AsideReason, isAsideReason, readOrReason } from '../../ledger/account/account-repository.ts';
import { type AccountState, INITIAL_ACCOUNT, INITIAL_SPEND } from '../../ledger/account/account-state.ts';
import { endOfException, openException } from '../../ledger/account/exceptions.ts';
import { NO_EXCEPTIONS } from '../../ledger/account/exceptions-state.ts';
import { entryOf, recordOf } from '../../ledger/account/keyed-tree.ts';
import { readAccountEvents } from '../../ledger/account/load-account.ts';
import { monthOf } from '../../ledger/account/month.ts';
import { monthOfSpend } from '../../ledger/account/spend.ts';
import { type CatalogToDoAgain, findCatalogToDoAgain } from './catalog-to-do-again.ts';
import { type KnownAccount, readKnownAccounts } from './known-accounts.ts';
import { type MemberToDoAgain, missingMembers } from './members-to-do-again.ts';
import { missingPayments, type PaymentsToDoAgain } from './payments-to-do-again.ts';
import { missingPlan, type PlanToDoAgain } from './plans-to-do-again.ts';
import { type SettlesByItself, whenSettled } from './settles-by-itself.ts';

/** What views know and their ledger has lost: nothing but an operator can do it again. */
export interface ToDoAgain {
  readonly catalog: CatalogToDoAgain | null;
  readonly accounts: readonly AccountToDoAgain[];
}

/** All amounts in micro-USD, as decimal strings, but for `late`. */
export interface AccountToDoAgain {
  readonly accountId: string;
  /** Why its events cannot be relied on: what of it is lost cannot be told then, and nothing is said of it here. Null where they can. */
  readonly whyAside: string | null;
  /** The account itself; null where the ledger has it. */
  readonly account: (Pick<KnownAccount, 'kind' | 'email' | 'plan'> & { readonly product: string }) | null;
  /** Why it was suspended, where the account itself is lost; one that the ledger has is suspended again without anybody. */
  readonly suspended: string | null;
  /** The ledger has it suspended, and has lost that this was lifted. */
  readonly isReinstatementLost: boolean;
  readonly grants: KnownAccount['grants'];
  /** Those in use: what is not there is as good as revoked. Their secrets were never kept. */
  readonly keys: readonly KeyToDoAgain[];
  /** Those of which the ledger has lost that they were rotated: it knows the secret of before. */
  readonly rotatedKeys: readonly KeyToDoAgain[];
  readonly members: readonly MemberToDoAgain[];
  readonly payments: PaymentsToDoAgain | null;
  readonly plan: PlanToDoAgain | null;
  /** The month of the last statement, which is closed anew with what the ledger has then; null where it is there. */
  readonly statement: { readonly month: string; readonly closing: string } | null;
  /** As they were. */
  readonly limits: readonly LimitToDoAgain[];
  /** Null where nothing of it is lost. */
  readonly balance: Difference | null;
  /** What was used beyond all grants, and the next one fills first. */
  readonly debt: Difference | null;
  /** In the calendar month (UTC) of the question. */
  readonly spentThisMonth: (Difference & { readonly month: string }) | null;
  readonly exceptions: readonly ExceptionToDoAgain[];
  /** What the journal's requests will be debited at the next start; the amounts of `is` have it already. Null where it has none. */
  readonly settlesByItself: { readonly requests: number; readonly amount: string } | null;
}

type KeyToDoAgain = Pick<KnownAccount['keys'][string], 'name' | 'last4' | 'member' | 'models' | 'expiresAtMs'> & {
  readonly keyId: string;
};

interface Difference {
  /** By the views. */
  readonly was: string;
  /** By the ledger, once the journal's requests are settled. */
  readonly is: string;
}

interface ExceptionToDoAgain {
  readonly requestId: string;
  /** `open`, `approved` or `dropped`. */
  readonly was: string;
  /** Whether the ledger has it open, or will once the journal's requests are settled, or never. */
  readonly is: 'open' | 'opens' | 'lost';
  /** What the hold left out, and what came late (pico-USD); null where the views know it no more. */
  readonly leftOut: string | null;
  readonly late: string | null;
}

/** Null without views to know it by; what the journal settles counts as there. @throws EventLogError; Error */
export async function findToDoAgain(
  log: EventLog,
  viewsFile: string | null,
  nowMs: number,
  settling: SettlesByItself = new Map(),
): Promise<ToDoAgain | null> {
  if (viewsFile === null) return null;
  const accounts: AccountToDoAgain[] = [];
  for (const known of readKnownAccounts(viewsFile)) {
    const ofAccount = settling.get(accountId(known.accountId)) ?? [];
    const states = await readOrReason(readStates(log, known));
    const lacks = isAsideReason(states) ? accountAside(known, states) : missingIn(states, known, ofAccount, nowMs);
    if (isAnything(lacks)) accounts.push(lacks);
  }
  return { catalog: await findCatalogToDoAgain(log, viewsFile), accounts };
}

export interface States {
  readonly now: AccountState;
  /** At the revision that the views have it at, or the last before. A ledger that goes on with what they know has the same there. */
  readonly then: AccountState;
}

async function readStates(log: EventLog, { accountId: id, revision }: KnownAccount): Promise<States> {
  let [now, then]: [AccountState, AccountState] = [INITIAL_ACCOUNT, INITIAL_ACCOUNT];
  for await (const { recorded, event } of readAccountEvents(log, accountId(id))) {
    now = evolveAt(accountId(id), now, recorded.revision, event);
    if (recorded.revision <= revision) then = now;
  }
  return { now, then };
}

const accountAside = ({ accountId }: KnownAccount, { message }: AsideReason): AccountToDoAgain => ({
  ...{ accountId, whyAside: message, account: null, suspended: null, isReinstatementLost: false },
  ...{ grants: [], keys: [], rotatedKeys: [], members: [], limits: [], exceptions: [], payments: null, plan: null },
  ...{ statement: null, balance: null, debt: null, spentThisMonth: null, settlesByItself: null },
});

type Settling = NonNullable<ReturnType<SettlesByItself['get']>>;

function missingIn({ now, then }: States, known: KnownAccount, settling: Settling, nowMs: number): AccountToDoAgain {
  const { kind, email, plan, organization } = known;
  const product = organization?.product ?? DEFAULT_PRODUCT;
  const isOpen = now.type === 'open';
  const month = monthOf(nowMs);
  const settled = whenSettled(now, settling);
  // What views have folded and the journal still holds is not lost.
  const states = { atViews: then, atViewsSettled: whenSettled(then, settling), is: settled };
  const money = mapValues(states, (state) => moneyOf(state, month));
  const lost = (was: string | null, of: keyof Money): Difference | null =>
    difference(
      was,
      mapValues(money, (amounts) => amounts[of]),
    );
  const spent = lost(known.spend.months[month]?.account ?? '0', 'spent');
  const amount = moneyOf(now, month).balance - money.is.balance;
  return {
    accountId: known.accountId,
    whyAside: null,
    account: isOpen ? null : { kind, email, plan, product },
    suspended: isOpen ? null : known.suspended,
    isReinstatementLost: known.suspended === null && then.type === 'open' && then.suspended !== null,
    grants: missingGrants(now, known),
    keys: missingKeys(now, known),
    rotatedKeys: rotatedBefore({ now, then }, known),
    members: missingMembers({ now, then }, known),
    payments: missingPayments({ now, then }, known),
    plan: missingPlan({ now, then }, known, nowMs),
    statement: missingStatement(now, known),
    limits: missingLimits({ now, then }, known),
    balance: lost(known.balance, 'balance'),
    debt: lost(known.uncovered, 'debt'),
    spentThisMonth: spent === null ? null : { month, ...spent },
    exceptions: missingExceptions(now, settled, known),
    settlesByItself: settling.length === 0 ? null : { requests: settling.length, amount: amount.toString() },
  };
}

interface Money {
  readonly balance: bigint;
  readonly debt: bigint;
  readonly spent: bigint;
}

/** A value of each state of an account that its loss is told by. */
interface OfStates<T> {
  /** At the views' revision, and what it would have been there with the journal settled. */
  readonly atViews: T;
  readonly atViewsSettled: T;
  readonly is: T;
}

const mapValues = <T, R>({ atViews, atViewsSettled, is }: OfStates<T>, value: (of: T) => R): OfStates<R> => ({
  atViews: value(atViews),
  atViewsSettled: value(atViewsSettled),
  is: value(is),
});

function moneyOf(state: AccountState, month: string): Money {
  if (state.type === 'unopened') return { balance: 0n, debt: 0n, spent: 0n };
  return { balance: state.balance, debt: state.uncovered, spent: monthOfSpend(state.spend, month).account };
}

const difference = (was: string | null, { atViews, atViewsSettled, is }: OfStates<bigint>): Difference | null =>
  was === null || [atViews, atViewsSettled].some((amount) => amount.toString() === was)
    ? null
    : { was, is: is.toString() };

function missingGrants(state: AccountState, known: KnownAccount): KnownAccount['grants'] {
  const granted = new Set<string>(state.type === 'open' ? state.grants.map(({ grantId }) => grantId) : []);
  return known.grants.filter(({ grantId }) => !granted.has(grantId));
}

function missingKeys(state: AccountState, known: KnownAccount): KeyToDoAgain[] {
  const has = state.type === 'open' ? state.keys : null;
  return Object.entries(known.keys).flatMap(([keyId, key]) =>
    key.revokedAtMs != null || entryOf(has, keyId) !== undefined ? [] : [keyToDoAgain(keyId, key)],
  );
}

/** Those that the ledger has with another secret, and has not rotated since the views. */
const rotatedBefore = ({ now, then }: States, known: KnownAccount): KeyToDoAgain[] =>
  Object.entries(known.keys).flatMap(([keyId, key]) => {
    const [is, was] = [now, then].map((state) =>
      state.type === 'open' ? entryOf(state.keys, keyId)?.sha256 : undefined,
    );
    const isLost = key.revokedAtMs == null && is !== undefined && is !== key.sha256 && is === was;
    return isLost ? [keyToDoAgain(keyId, key)] : [];
  });

const keyToDoAgain = (
  keyId: string,
  { name, last4, member, models, expiresAtMs }: KnownAccount['keys'][string],
): KeyToDoAgain => ({ keyId, name, last4, member, models, expiresAtMs });

const missingStatement = (now: AccountState, { billing }: KnownAccount): AccountToDoAgain['statement'] => {
  const was = billing?.statement ?? null;
  const is = now.type === 'open' ? now.billing.statement : null;
  return was === null || (is !== null && is.month >= was.month) ? null : was;
};

interface LimitToDoAgain {
  /** Both null of the account. */
  readonly keyId: string | null;
  readonly member: string | null;
  /** Micro-USD a month; null where it was lifted. */
  readonly limit: string | null;
  readonly mode: 'hard' | 'soft';
  readonly thresholdsPercent: readonly number[];
}

/** Those that were set or lifted, and are not as they were. What the ledger has decided since the views is not lost. */
function missingLimits({ now, then }: States, { spend }: KnownAccount): LimitToDoAgain[] {
  const known = limitsIn(spend);
  const [isNow, wasThen] = [limitsIn(spendOf(now)), limitsIn(spendOf(then))];
  return [...new Set(['account', ...known.keys(), ...wasThen.keys()])].flatMap((scope) => {
    const was = known.get(scope) ?? NO_LIMIT;
    const isKnown = [isNow, wasThen].some((has) => isDeepStrictEqual(has.get(scope) ?? NO_LIMIT, was));
    const member = scope.startsWith(OF_MEMBER) ? scope.slice(OF_MEMBER.length) : null;
    return isKnown ? [] : [{ keyId: member === null && scope !== 'account' ? scope : null, member, ...was }];
  });
}

type Terms = Omit<LimitToDoAgain, 'keyId' | 'member'>;
const NO_LIMIT: Terms = { limit: null, mode: 'hard', thresholdsPercent: USUAL_THRESHOLDS };
const OF_MEMBER = 'member:';

type Limits = Pick<KnownAccount['spend'] | ReturnType<typeof spendOf>, 'accountLimit' | 'keyLimits' | 'otherLimits'>;

/** By scope, as the state calls it (ledger/account/spend-limits.ts); amounts of views are text. */
function limitsIn({ accountLimit, keyLimits, otherLimits }: Limits): Map<string, Terms> {
  const { members, soft, thresholds } = otherLimits ?? { members: {}, soft: {}, thresholds: {} };
  const termsOf = (scope: string, limit: string | bigint, mode: Terms['mode']): [string, Terms] => [
    scope,
    { limit: limit.toString(), mode, thresholdsPercent: thresholds[scope] ?? USUAL_THRESHOLDS },
  ];
  return new Map([
    ...(accountLimit === null ? [] : [termsOf('account', accountLimit, 'hard')]),
    ...Object.entries(members).map(([email, limit]) => termsOf(`${OF_MEMBER}${email}`, limit, 'hard')),
    ...Object.entries(keyLimits).map(([keyId, limit]) => termsOf(keyId, limit, 'hard')),
    ...Object.entries(soft).map(([scope, limit]) => termsOf(scope, limit, 'soft')),
  ]);
}

function spendOf(state: AccountState) {
  const { keyLimits, ...spend } = state.type === 'open' ? state.spend : INITIAL_SPEND;
  return { ...spend, keyLimits: recordOf(keyLimits) };
}

function missingExceptions(
  state: AccountState,
  settled: AccountState,
  { exceptions: { open, ended } }: KnownAccount,
): ExceptionToDoAgain[] {
  const before = exceptionsOf(state);
  const has = exceptionsOf(settled);
  const isOpen = (requestId: string) => openException(has, requestId) !== undefined;
  const hasEnded = (requestId: string) => endOfException(has, requestId) !== undefined;
  const ofOpen = Object.entries(open).map(([requestId, { leftOut, late }]) => ({
    ...{ requestId, was: 'open', is: 'lost' as const, leftOut, late },
  }));
  const ofEnded = Object.entries(ended).map(([requestId, was]) => {
    const kept = openException(has, requestId);
    const [leftOut, late] = [kept?.leftOut.toString() ?? null, kept?.late?.toString() ?? null];
    const is = kept === undefined ? 'lost' : openException(before, requestId) === undefined ? 'opens' : 'open';
    return { requestId, was, is, leftOut, late } as const;
  });
  return [
    ...ofOpen.filter(({ requestId }) => !isOpen(requestId) && !hasEnded(requestId)),
    ...ofEnded.filter(({ requestId }) => !hasEnded(requestId)),
  ];
}

const exceptionsOf = (state: AccountState) => (state.type === 'open' ? state.exceptions : NO_EXCEPTIONS);

/** Whether there is something of an account to do. */
export const isAnything = ({ accountId: _, settlesByItself: __, ...lacks }: AccountToDoAgain): boolean =>
  Object.values(lacks).some((part) => (Array.isArray(part) ? part.length > 0 : part !== null && part !== false));
