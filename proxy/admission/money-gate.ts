import { type ErrorCode, type Refusal, refusal } from '../../contracts/errors.ts';
import type { AccountId, KeyId } from '../../contracts/ids.ts';
import { formatUsd, type MicroUsd, microUsd, mostDebited } from '../../contracts/money.ts';
import { readable } from '../../contracts/printable.ts';
import { NOTHING, type OpenAccount } from '../../ledger/account/account-state.ts';
import { isExpired } from '../../ledger/account/grants.ts';
import { type HeldOfAccount, spendable, takenOfCredits } from '../../ledger/account/leases.ts';
import { memberKey, memberKeyOf } from '../../ledger/account/members.ts';
import { monthOf } from '../../ledger/account/month.ts';
import { overdraftOf } from '../../ledger/account/plan-over.ts';
import { memberLimitOf } from '../../ledger/account/spend-limits.ts';
import { unpaidPlan, wasInForce, wasPaidInTime } from '../../ledger/account/unpaid-plan.ts';
import { planAsTold } from '../../ledger/account/words-for-accounts.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { SpendAgainstLimit } from '../../projections/spend-limits.ts';
import type { Holds } from '../holds.ts';
import { maxTokensThatFit, type WorstCase } from './worst-case.ts';

/** What the caller of a request that does not fit can do about it, or has to know of it. */
export interface Remedies {
  /** Something of it is not known here, and may use whatever there is. */
  readonly takenAsWorst: boolean;
  /** The field with which a tool's paid uses are bounded, and the most with which less would be held; null where none is paid. */
  readonly fewerUses: { readonly path: string; readonly most: number } | null;
  /** Its provider's count may show that less comes in than its bytes could be. */
  readonly mayBeCounted: boolean;
}

export interface MoneyRequest extends Remedies {
  readonly accountId: AccountId;
  readonly account: OpenAccount;
  readonly keyId: KeyId;
  readonly worst: WorstCase;
  readonly maxTokens: number;
  /** The field, and the beta, for which more is held than the request's own bytes at the model's usual price. */
  readonly fieldBehind: string | null;
  readonly betaBehind: string | null;
  readonly nowMs: number;
}

/** What is taken already of what a request needs: by holds of this proxy and, in a fleet, by leases of the others. */
export interface AlreadyTaken {
  readonly account: MicroUsd;
  readonly accountMonth: MicroUsd;
  /** Nothing where the key's member has no limit. */
  readonly memberMonth: MicroUsd;
  readonly keyMonth: MicroUsd;
}

/** What an account's holds take of what can be spent now: not what grants will pay that have expired under them. */
export const heldOfCredits = (accountId: AccountId, account: OpenAccount, holds: Holds, nowMs: number): MicroUsd =>
  takenOfCredits(account, { leases: [], holds: heldOf(accountId, holds) }, nowMs);

export const heldOf = (accountId: AccountId, holds: Holds): HeldOfAccount => ({
  amount: holds.ofAccount(accountId),
  each: holds.each(accountId),
});

/** What this proxy's own holds take. */
export function takenByHolds({ accountId, account, keyId, nowMs }: MoneyRequest, holds: Holds): AlreadyTaken {
  const month = monthOf(nowMs);
  return {
    account: heldOfCredits(accountId, account, holds, nowMs),
    accountMonth: holds.ofAccountMonth(accountId, month),
    memberMonth: heldOfMember({ accountId, account, keyId }, month, holds),
    keyMonth: holds.ofKeyMonth(accountId, keyId, month),
  };
}

/** What the keys of a key's member hold, where that has a limit; nothing elsewhere. */
export function heldOfMember(
  { accountId, account, keyId }: Pick<MoneyRequest, 'accountId' | 'account' | 'keyId'>,
  month: string,
  holds: Holds,
): MicroUsd {
  const of = memberLimitOf(account, keyId);
  if (of === null) return NOTHING;
  const member = memberKey(of.member);
  return holds.ofMemberMonth(accountId, { member, month }, (key) => memberKeyOf(account, key));
}

/** One of the bounds that a request's worst case has to fit. */
interface Room {
  readonly of: 'balance' | LimitRoom['of'];
  /** What is neither spent nor held. */
  readonly left: MicroUsd;
  readonly held: MicroUsd;
  /** In the month of the limit; null of the balance. */
  readonly spent: MicroUsd | null;
}

/** A monthly limit. */
interface LimitRoom extends Room {
  readonly of: keyof typeof LIMIT_REACHED;
  readonly limit: MicroUsd;
}

const isLimit = (room: Room): room is LimitRoom => room.of !== 'balance';

/** Whose limit a refusal is about. */
const LIMIT_REACHED = {
  account: ['account_limit_reached', "the account's"],
  member: ['member_limit_reached', "the member's"],
  key: ['key_limit_reached', "the key's"],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

/** Whether the worst case fits credits and the monthly limits of account, member and key (What holds, 7), and what not. */
export function refuseByMoney(request: MoneyRequest, accounts: AccountViews, taken: AlreadyTaken): Refusal | null {
  const { accountId, account, keyId, worst, nowMs } = request;
  if (worst.hold === 0n) return null;
  const month = monthOf(nowMs);
  const { spendLimits } = accounts;
  const left = microUsd(spendable(account, nowMs) + overdraftOf(account, nowMs) - taken.account);
  const rooms: Room[] = [
    { of: 'balance', left, held: taken.account, spent: null },
    ...roomOf('account', spendLimits.ofAccount(accountId, month), taken.accountMonth),
    ...roomOf('member', spendLimits.ofMember(accountId, keyId, month), taken.memberMonth),
    ...roomOf('key', spendLimits.ofKey(accountId, keyId, month), taken.keyMonth),
  ];
  const narrowest = narrowestOf(rooms);
  if (worst.hold <= narrowest.left) return null;
  return { ...refuseBy(narrowest, rooms, request), lacksCreditsAlone: lacksCreditsAlone(rooms, worst) };
}

function roomOf(of: keyof typeof LIMIT_REACHED, against: SpendAgainstLimit | null, held: MicroUsd): LimitRoom[] {
  if (against === null || against.limit === null) return [];
  const { limit, spent } = against;
  return [{ of, limit, left: microUsd(limit - spent - held), held, spent }];
}

function unpaidPlanOf({ account: { billing }, nowMs }: MoneyRequest): ReturnType<typeof unpaidPlan> {
  return unpaidPlan({ billing: { ...billing, plan: planAsTold('account', billing.plan) } }, nowMs);
}

const narrowestOf = (rooms: readonly Room[]): Room =>
  rooms.reduce((least, room) => (shownOf(room) < shownOf(least) ? room : least));

/** What is only held for other requests will have room. */
const isTooNarrow = ({ left, held }: Room, { hold }: WorstCase): boolean => hold > left + held;

const lacksCreditsAlone = (rooms: readonly Room[], worst: WorstCase): boolean =>
  rooms.every((room) => (room.of === 'balance' ? worst.hold > room.left : !isTooNarrow(room, worst)));

/** What else is in the way for good, of limits beside the balance and of it beside them: who sees to the one alone is refused again. */
function otherBeside(short: Room, rooms: readonly Room[], worst: WorstCase): string {
  const others = rooms.filter((room) => isLimit(room) !== isLimit(short) && isTooNarrow(room, worst));
  return others.length === 0 ? '' : `; ${inWords(narrowestOf(others))} does not cover this request either`;
}

const inWords = (room: Room): string =>
  isLimit(room) ? limitInWords(room) : `the balance, of which ${formatUsd(shownOf(room))} USD is left,`;

const limitInWords = ({ of, limit }: LimitRoom): string =>
  `${LIMIT_REACHED[of][1]} monthly limit of ${formatUsd(limit)} USD`;

/** By the narrowest: others that are short by the input's bytes may have room for its count. */
function refuseBy(short: Room, rooms: readonly Room[], request: MoneyRequest): Refusal {
  // Only what is held for other requests is in the way, of this room and of every other.
  const isOnlyHeld = !rooms.some((room) => isTooNarrow(room, request.worst));
  const retryAfterS = isOnlyHeld ? HOLDS_RETRY_S : undefined;
  const why = figures(request, short, isOnlyHeld) + otherBeside(short, rooms, request.worst);
  if (isLimit(short)) {
    const [code] = LIMIT_REACHED[short.of];
    return refusal(code, `${limitInWords(short)} does not cover this request: ${why}`, retryAfterS);
  }
  const unpaid = unpaidPlanOf(request);
  const over = whatIsOver(request.account, request.nowMs);
  if (over !== null && unpaid === null) return refusal(over.code, `${over.told}: buy credits or choose a plan; ${why}`);
  return refusal(
    'insufficient_credits',
    `the balance does not cover this request${unpaid === null ? ': ' : `, and ${unpaid.says}: ${unpaid.next}; `}${why}`,
    retryAfterS,
  );
}

interface Over {
  readonly code: 'trial_expired' | 'plan_ended';
  readonly told: string;
}

/** Where nothing is left, the last that an account has had: a plan that was not paid, also as far as was told since, or its trial, which the clock has ended or which is used up. */
function whatIsOver(account: OpenAccount, nowMs: number): Over | null {
  const { grants, billing } = account;
  const { endedPlan } = billing;
  if (grants.some((grant) => grant.remaining > 0n && !isExpired(grant, nowMs))) return null;
  const isLast = (endMs: number): boolean => !grants.some(({ effectiveAtMs }) => effectiveAtMs >= endMs);
  if (endedPlan?.reason === 'unpaid' && isLast(endedPlan.atMs) && !wasPaidInTime(account)) {
    const at = new Date(endedPlan.atMs).toISOString();
    const how = wasInForce(account) ? `ended at ${at} because it was not paid in time` : `was not paid by ${at}`;
    return { code: 'plan_ended', told: `the plan ${endedPlan.plan} ${how}, and no credits are left` };
  }
  if (grants.length === 0 || !grants.every(({ source }) => source === 'trial')) return null;
  const isUsedUp = !grants.some((grant) => grant.remaining > 0n || grant.expired > 0n);
  const told = isUsedUp ? 'the trial credits are used up' : 'the trial credits have expired and no others are left';
  return { code: 'trial_expired', told };
}

/** Most requests cost a small part of what is held for them: soon there may be room. */
const HOLDS_RETRY_S = 2;

/** In words, of the narrowest room. */
function figures(request: MoneyRequest, narrowest: Room, isOnlyHeld: boolean): string {
  const { worst, maxTokens, nowMs } = request;
  const { held, spent } = narrowest;
  const shown = shownOf(narrowest);
  const fitting = maxTokensThatFit(worst, shown);
  const mayCountHelp = request.mayBeCounted && shown > 0n && maxTokens > 1;
  const advice =
    fitting >= 1n
      ? `the largest max_tokens that would pass is ${fitting}${request.mayBeCounted ? ' (a higher one may, once its provider has counted the input)' : ''}`
      : `no max_tokens would pass for this input by its bytes${mayCountHelp ? ' (a lower one may, once its provider has counted them)' : ''}`;
  const others = held > 0n ? ` (${formatUsd(held)} USD more is held for requests under way)` : '';
  const before = spent === null ? '' : `, ${formatUsd(spent)} USD is spent in ${monthOf(nowMs)}`;
  const later = isOnlyHeld ? '; it fits once they have ended for less: try again' : '';
  return `it could cost ${formatUsd(worst.hold)} USD with max_tokens ${maxTokens}${causes(request)}, ${formatUsd(shown)} USD is left${others}${before}${later}; ${advice}`;
}

/** Nothing where it is overdrawn. */
const shownOf = ({ left }: Room): MicroUsd => (left < 0n ? microUsd(0n) : left);

/** What makes it dearer than its bytes say, or a caller would look in vain. A name can be the client's own. */
function causes({ worst, fieldBehind, betaBehind, takenAsWorst, fewerUses }: MoneyRequest): string {
  const beta = betaBehind === null ? [] : [`anthropic-beta ${betaBehind}`];
  const behind = [...(fieldBehind === null ? [] : [readable(fieldBehind)]), ...beta];
  const unknown = takenAsWorst ? ', because not all of it is known here: what is not is taken as the worst' : '';
  const bound = fewerUses === null ? '' : `; ${readable(fewerUses.path)} of 1 to ${fewerUses.most} would hold less`;
  return behind.length === 0
    ? ''
    : ` (${formatUsd(mostDebited(worst.input))} USD of it for the most that ${behind.join(' with ')} can bring${unknown}${bound})`;
}
