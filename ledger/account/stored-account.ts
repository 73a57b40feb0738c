import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import { textDecoderOf } from '../../contracts/schema-decoder.ts';
import { encoderOf } from '../../contracts/schema-encoder.ts';
import { INITIAL_SPEND, NO_LEASES, type OpenAccount, openAccountSchema, type SpendState } from './account-state.ts';
import { NO_BILLING } from './billing-state.ts';
import { openException } from './exceptions.ts';
import { billingExceptionSchema, type ExceptionsState, exceptionEndSchema, NO_EXCEPTIONS } from './exceptions-state.ts';
import { entryOf, treeOf } from './keyed-tree.ts';
import { memberKey } from './members.ts';
import { attemptSchema, isOpen, type PaymentAttempt } from './payments-state.ts';
import { STORED_PARTS, type StoredPart } from './stored-parts.ts';

const encodeAccount = encoderOf(openAccountSchema);
const decodeAccount = textDecoderOf(openAccountSchema);
const encodeException = encoderOf(billingExceptionSchema);
const decodeException = textDecoderOf(billingExceptionSchema);
const encodeAttempt = encoderOf(attemptSchema);
const decodeAttempt = textDecoderOf(attemptSchema);

/** An account's state as text, without its exceptions and its parts: each is a text of its own, and changes by itself. */
export function accountText({ exceptions, keys: _keys, ...account }: OpenAccount): string {
  const { open: _open, ended: _ended, ...inSum } = exceptions;
  return JSON.stringify(encodeAccount({ ...account, exceptions: inSum }));
}

/** One exception as text: how it ended, or what it is about. `open` is all of the latter. */
export interface StoredException {
  readonly state: 'open' | 'approved' | 'dropped';
  /** JSON; empty of one that has ended. */
  readonly text: string;
}

/** @throws Error where there is none of this request */
export function storedException({ exceptions }: OpenAccount, requestId: RequestId): StoredException {
  const exception = openException(exceptions, requestId);
  if (exception !== undefined) return { state: 'open', text: JSON.stringify(encodeException(exception)) };
  const state = entryOf(exceptions.ended, requestId);
  if (state === undefined) throw new Error(`${requestId} has no exception`);
  return { state, text: '' };
}

/** What `accountText` gave; its exceptions and its parts follow one by one. @throws Error where it is not of that form */
export function accountOfText(text: string): OpenAccount {
  const account = decodeAccount(text);
  const { billing, exceptions, leases, spend } = account;
  // What most accounts have nothing of stands in memory once.
  return Object.assign(account, {
    keys: null,
    spend: isInitial(spend) ? INITIAL_SPEND : spend,
    billing: isDeepStrictEqual(billing, NO_BILLING) ? NO_BILLING : billing,
    leases: isEmpty(leases) ? NO_LEASES : leases,
    exceptions: isNothing(exceptions) ? NO_EXCEPTIONS : { ...NO_EXCEPTIONS, ...exceptions },
  });
}

type AccountJson = Readonly<Record<string, unknown>>;

/**
 * By version: what makes a stored account of it one of the next version. What came since has the value that a fold of events of then
 * comes to; a version for which none can be told has no entry, and neither it nor those before it are read.
 */
const UPCASTERS: Readonly<Record<number, (account: AccountJson) => AccountJson>> = {
  6: ({ members: _, ...account }) => account,
  7: (account) => ({ ...account, billing: NO_BILLING_OF_8, ...withoutMembers(account) }),
  8: ({ billing, ...account }) => ({ ...account, billing: withoutPlan(billing as BillingJson) }),
  9: (account) => ({ ...account, spend: { ...(account.spend as object), otherLimits: null } }),
  // Of a method that was removed before then it is not known: until these rows are rebuilt.
  10: ({ billing, ...account }) => ({ ...account, billing: withoutRemoval(billing as BillingJson) }),
  11: (account) => account,
  // What was given up before then is not counted, either.
  12: (account) => account,
  13: ({ billing, ...account }) => ({ ...account, billing: withUpgrade(billing as BillingJson) }),
  14: ({ billing, ...account }) => ({ ...account, billing: withDeclined(billing as BillingJson) }),
  15: ({ billing, ...account }) => ({ ...account, billing: withUnanswered(billing as BillingJson) }),
  16: ({ billing, ...account }) => ({ ...account, billing: withoutSetOff(billing as BillingJson) }),
};

const NO_BILLING_OF_8: BillingJson = {
  ...{ revocations: [], reversals: [], adjustments: [], statement: null },
  payments: { method: null, attempts: {}, reload: null },
};

type BillingJson = AccountJson & { readonly payments: AccountJson };

const withoutRemoval = ({ payments, ...billing }: BillingJson): AccountJson => ({
  ...billing,
  payments: { ...payments, methodRemovedAtMs: null },
});

/** Of what was asked for once more since it is not known: until these rows are rebuilt. */
function withUpgrade(billing: BillingJson): AccountJson {
  const plan = (billing.plan ?? null) as AccountJson | null;
  if (plan === null) return billing;
  const { unlessPaid, ...next } = (plan.next ?? {}) as AccountJson;
  const attempt = (billing.payments.attempts as Rows)[String(unlessPaid)];
  const upgrade = (attempt?.period as AccountJson | undefined)?.plan ?? null;
  return { ...billing, plan: { ...plan, next: plan.next === null ? null : next, upgrade } };
}

/** Why it was is not known: until these rows are rebuilt. */
function withDeclined({ plan: stored, ...billing }: BillingJson): AccountJson {
  const plan = (stored ?? null) as AccountJson | null;
  const due = (plan?.due ?? null) as AccountJson | null;
  return { ...billing, plan: due === null ? plan : { ...plan, due: { ...due, declined: null } } };
}

/** They were counted as one: as many as were counted are the newest that came to nothing, one after another. */
function withUnanswered({ payments, ...billing }: BillingJson): AccountJson {
  const reload = (payments.reload ?? null) as AccountJson | null;
  if (reload === null) return { ...billing, payments };
  const counted = Object.values(payments.attempts as Rows)
    .filter(({ kind, state }) => kind === 'reload' && (state === 'failed' || state === 'abandoned'))
    .toSorted((one, other) => Number(other.startedAtMs) - Number(one.startedAtMs))
    .slice(0, Number(reload.declines));
  const unanswered = counted.filter(({ state, provider }) => state === 'abandoned' && provider !== MANUAL).length;
  const declines = Number(reload.declines) - unanswered;
  return { ...billing, payments: { ...payments, reload: { ...reload, declines, unanswered } } };
}

/** Until then none had. */
const withoutSetOff = ({ revocations, ...billing }: BillingJson): AccountJson => ({
  ...billing,
  revocations: (revocations as AccountJson[]).map((one) => ({ ...one, setOff: [] })),
});

const withoutPlan = ({ payments, ...billing }: BillingJson): AccountJson => ({
  ...billing,
  payments: { ...payments, attempts: mapped(payments.attempts as Rows, (one) => ({ ...one, period: null })) },
  ...{ plan: null, endedPlan: null },
});

type Rows = Readonly<Record<string, AccountJson>>;

const mapped = (rows: Rows, change: (row: AccountJson) => AccountJson): Rows =>
  Object.fromEntries(Object.entries(rows).map(([id, row]) => [id, change(row)]));

/** Of one person, who has all of its keys, none of them rotated. */
function withoutMembers({ email, openedAtMs, keys }: AccountJson): AccountJson {
  const owner = { email, role: 'owner', addedAtMs: openedAtMs };
  const rows = Object.entries(keys as Record<string, object>);
  return {
    organization: { product: DEFAULT_PRODUCT, members: { [memberKey(String(email))]: owner } },
    keys: Object.fromEntries(rows.map(([id, key]) => [id, { ...key, member: null, previous: null }])),
  };
}

/** What makes of a text of an earlier version the account, without its exceptions; null where nothing can. */
export function accountUpcaster(version: number): ((text: string) => OpenAccount) | null {
  const steps = Array.from({ length: Math.max(0, WITH_PARTS - version) }, (_, at) => UPCASTERS[version + at]);
  if (version > WITH_PARTS || !steps.every((step) => step !== undefined)) return null;
  return (text) => ofOneText(steps.reduce((before, step) => step(before), JSON.parse(text) as AccountJson));
}

/** Which it was is not known of the version that has it in the place of the one that the attempt was begun with: until these rows are rebuilt. */
const withoutDeclinedMethod = (attempt: AccountJson): AccountJson => ({ declinedMethodId: null, ...attempt });

/** The same of a version that has parts as rows: of an account's own text, and of the text of an attempt that is not open. */
export function upcasterWithParts(
  version: number,
): Record<'ofAccount' | 'ofEndedAttempt', (text: string) => string> | null {
  if (version !== WITH_PARTS + 1) return null;
  return {
    ofAccount: (text) => {
      const { billing, ...account } = JSON.parse(text) as { readonly billing: BillingJson };
      const attempts = mapped(billing.payments.attempts as Rows, withoutDeclinedMethod);
      const payments = { ...billing.payments, attempts };
      return accountText(accountOfText(JSON.stringify({ ...account, billing: { ...billing, payments } })));
    },
    ofEndedAttempt: (text) => {
      const attempt = withoutDeclinedMethod(JSON.parse(text) as AccountJson);
      return JSON.stringify(encodeAttempt(decodeAttempt(JSON.stringify(attempt))));
    },
  };
}

/** The last version that has an account's parts in its own text. */
const WITH_PARTS = 17;

/** Keys stood in it in the order in which they were issued; how a payment method was declined is not known, until these rows are rebuilt. */
function ofOneText({ keys, spend, billing, ...others }: AccountJson): OpenAccount {
  const numbered = Object.entries(keys as Rows).map(([id, key], number): [string, object] => [id, { ...key, number }]);
  const { keyLimits, months, ...ofSpend } = spend as AccountJson & { readonly months: Rows };
  const { payments, ...ofBilling } = billing as BillingJson;
  const attempts = mapped(payments.attempts as Rows, (one) => ({
    paymentMethodId: methodOfBefore(one, payments),
    decline: null,
    ...withoutDeclinedMethod(one),
  }));
  const [open, ended] = [true, false].map((isIt) =>
    Object.entries(attempts).filter(([, attempt]) => isOpen(attempt as Pick<PaymentAttempt, 'state'>) === isIt),
  );
  const alone = accountOfText(
    JSON.stringify({
      ...{ ...others, keysIssued: numbered.length },
      spend: { ...ofSpend, months: mapped(months, ({ keys: _keys, ...month }) => month) },
      billing: { ...ofBilling, payments: { ...payments, attempts: Object.fromEntries(open ?? []) } },
    }),
  );
  const spent = Object.entries(months).flatMap(([month, of]) =>
    Object.entries(of.keys as object).map(([key, amount]): [string, unknown] => [`${month} ${key}`, amount]),
  );
  const parts: [StoredPart, Iterable<readonly [string, unknown]>][] = [
    [STORED_PARTS.keys, numbered],
    [STORED_PARTS.keyLimits, Object.entries(keyLimits as object)],
    [STORED_PARTS.spentByKeys, spent],
    [STORED_PARTS.endedAttempts, ended ?? []],
  ];
  return parts.reduce(
    (account, [part, rows]) =>
      part.put(
        account,
        [...rows].map(([id, value]) => [id, JSON.stringify(value)]),
      ),
    alone,
  );
}

/**
 * By when the one that is saved was consented to, or the last one removed: it is the one with which an attempt was begun since. One of
 * before then was begun with another, or with none: which of them is not known.
 */
function methodOfBefore({ kind, provider, startedAtMs }: AccountJson, payments: AccountJson): string | null {
  const saved = payments.method as AccountJson | null;
  const isOfOther = saved === null ? provider === MANUAL : provider !== saved.provider;
  if (kind === 'purchase' || isOfOther) return null;
  const sinceMs = saved === null ? payments.methodRemovedAtMs : saved.consentedAtMs;
  const isSince = sinceMs === null || Number(startedAtMs) >= Number(sinceMs);
  return isSince ? ((saved?.paymentMethodId as string | undefined) ?? null) : '';
}

const isInitial = ({ accountLimit, keyLimits, otherLimits, months }: SpendState): boolean =>
  accountLimit === null && keyLimits === null && otherLimits === null && isEmpty(months);

type InSum = Omit<ExceptionsState, 'open' | 'ended'>;

/** An exception that is kept by itself comes after it, and makes another state of it. */
const isNothing = ({ openCount, openAmount, withoutCost, unlisted, lastUsage }: InSum): boolean =>
  openCount === 0 && openAmount === 0n && withoutCost === 0 && unlisted === 0 && lastUsage === null;

const isEmpty = (record: object): boolean => Object.keys(record).length === 0;

type ReadException =
  | { readonly open: ReturnType<typeof decodeException> }
  | { readonly ended: ReturnType<typeof exceptionEndSchema.parse> };

/** An exception as `storedException` gave it. @throws Error where it is not of that form */
export const exceptionOfStored = ({ state, text }: Readonly<Record<keyof StoredException, string>>): ReadException =>
  state === 'open' ? { open: decodeException(text) } : { ended: exceptionEndSchema.parse(state) };

/** With all of its exceptions, in the order of their requests. */
export function withStoredExceptions(
  account: OpenAccount,
  stored: readonly (readonly [requestId: string, exception: ReadException])[],
): OpenAccount {
  return {
    ...account,
    exceptions: {
      ...account.exceptions,
      open: treeOf(stored.flatMap(([id, one]) => ('open' in one ? [[id, one.open] as const] : []))),
      ended: treeOf(stored.flatMap(([id, one]) => ('ended' in one ? [[id, one.ended] as const] : []))),
    },
  };
}
