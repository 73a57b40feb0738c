import { z } from 'zod';
import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import { WITHOUT_PLAN } from '../../contracts/plan.ts';
import { ACCOUNT_STATE_VERSION, type OpenAccount } from '../../ledger/account/account-state.ts';
import { attemptSchema } from '../../ledger/account/payments-state.ts';
import { paymentsOfPeriod } from '../../ledger/account/returned-plan.ts';
import { accountOfText } from '../../ledger/account/stored-account.ts';
import { STORED_PARTS } from '../../ledger/account/stored-parts.ts';
import { readBalanceStates, readBalanceVersion, readExceptionRows, readPartRows } from '../known-views.ts';

const amount = z.string();

const grant = z.object({
  grantId: z.string(),
  source: z.string(),
  amount,
  remaining: amount,
  /** What was paid for it; null where views of that version do not have it. */
  costBasis: amount.nullable().default(null),
  priority: z.int().nullable().default(null),
  /** Exclusive, in milliseconds since 1970; null is never. */
  expiresAtMs: z.number().nullable(),
});

const key = z.object({
  /** Its place among those that were issued; before version 18 they stand in that order. */
  number: z.int().default(0),
  name: z.string().default(''),
  last4: z.string().default(''),
  /** Whose it is, by e-mail; null is the first owner, as before version 8. */
  member: z.string().nullable().default(null),
  /** The models that it may use; null is all. */
  models: z.array(z.string()).nullable().default(null),
  expiresAtMs: z.number().nullable().default(null),
  revokedAtMs: z.number().nullish(),
  sha256: z.string().default(''),
});

const spend = z.object({
  accountLimit: amount.nullable().default(null),
  /** By key. Since version 18 each is a row of its own, as each key and each attempt that is not open. */
  keyLimits: z.record(z.string(), amount).default({}),
  /** Since version 9. */
  otherLimits: z
    .object({
      members: z.record(z.string(), amount),
      soft: z.record(z.string(), amount),
      thresholds: z.record(z.string(), z.array(z.number())),
    })
    .nullable()
    .default(null),
  months: z.record(z.string(), z.object({ account: amount.default('0') })).default({}),
});

/** What the hold left out, and what came late in pico-USD. */
const exception = z.object({ leftOut: amount.default('0'), late: amount.nullable().default(null) });

const exceptions = z.object({
  /** By request. Since version 6 each is a row of its own. */
  open: z.record(z.string(), exception).default({}),
  ended: z.record(z.string(), z.string()).default({}),
});

const attempt = z.object({
  ...{ attemptId: z.string(), kind: z.string(), provider: z.string(), credits: amount, price: amount },
  ...{ state: z.string(), paymentId: z.string().nullable() },
  /** What of a plan it pays for; null where it is credit alone. */
  period: z.object({ plan: z.string(), endMs: z.number() }).nullable().default(null),
  refunds: z.array(z.object({ refundId: z.string(), amount })),
  disputes: z.array(z.object({ disputeId: z.string(), amount, outcome: z.string().nullable() })),
});

const payments = z.object({
  method: z.object({ provider: z.string(), brand: z.string(), last4: z.string() }).nullable(),
  attempts: z.record(z.string(), attempt),
  reload: z
    .object({ threshold: amount, target: amount, monthlyCap: amount, consentedAtMs: z.number().nullable() })
    .nullable(),
});
export type KnownPayments = z.infer<typeof payments>;

const plan = z.object({
  plan: z.string(),
  anchorMs: z.number(),
  period: z.object({ endMs: z.number() }).nullable(),
  next: z.object({ plan: z.string() }).nullable(),
  /** Since version 14; absent is not known. */
  upgrade: z.string().nullable().optional(),
});

const billing = z.object({
  payments: payments.optional(),
  /** Since version 9. */
  plan: plan.nullish(),
  endedPlan: z.object({ plan: z.string(), reason: z.string() }).nullish(),
  statement: z.object({ month: z.string(), closing: amount }).nullish(),
});

/** What of an account must not be forgotten with it; read from views of any version. */
const knownSchema = z.looseObject({
  accountId: z.string(),
  kind: z.string().default(''),
  email: z.string().default(''),
  plan: z.string().default(WITHOUT_PLAN),
  /** Why it is; null where it is not. */
  suspended: z.string().nullable().default(null),
  /** Null where views of that version do not have it. */
  balance: amount.nullable().default(null),
  uncovered: amount.nullable().default(null),
  grants: z.array(grant).default([]),
  keys: z.record(z.string(), key).default({}),
  spend: spend.default({ accountLimit: null, keyLimits: {}, otherLimits: null, months: {} }),
  exceptions: exceptions.default({ open: {}, ended: {} }),
  /** Absent where views of that version have none. */
  organization: z
    .object({
      product: z.string().default(DEFAULT_PRODUCT),
      members: z.record(z.string(), z.object({ email: z.string(), role: z.string() })),
    })
    .optional(),
  billing: billing.optional(),
});

/** An account as a views' file knows it, at a revision of its stream. Amounts in micro-USD, as decimal strings. */
export type KnownAccount = Readonly<z.infer<typeof knownSchema>> & {
  readonly revision: number;
  /**
   * By which the period of its plan is paid, with what of that went back: in views of this program's version as the ledger counts them.
   * Of others it is not known what took effect: there they are all that were paid for a period with this end.
   */
  readonly paymentsOfPeriod: readonly PaymentOfPeriod[];
};

const paymentOfPeriod = z.object({
  ...attemptSchema.pick({ kind: true, provider: true, price: true, refunds: true, disputes: true }).shape,
  ...{ paymentId: z.string(), period: z.object({ plan: z.string() }) },
});
export type PaymentOfPeriod = z.infer<typeof paymentOfPeriod>;

/** The accounts of a views' file, in the order of their ids. @throws Error when it is no database, or a row is not of its form */
export function readKnownAccounts(path: string): KnownAccount[] {
  const rows = Map.groupBy(readExceptionRows(path), ({ accountId }) => accountId);
  const [keys, keyLimits, attempts] = ['key', 'key_limit', 'attempt'].map((part) =>
    Map.groupBy(readPartRows(path, part), ({ accountId }) => accountId),
  );
  const isOfThisVersion = readBalanceVersion(path) === ACCOUNT_STATE_VERSION;
  return readBalanceStates(path).map(({ accountId, revision, state }) => {
    const known = knownSchema.parse(JSON.parse(state));
    for (const row of rows.get(accountId) ?? []) {
      if (row.state === 'open') known.exceptions.open[row.requestId] = exception.parse(JSON.parse(row.exception));
      else known.exceptions.ended[row.requestId] = row.state;
    }
    const inRows = (keys?.get(accountId) ?? []).map(({ id, value }) => [id, key.parse(JSON.parse(value))] as const);
    for (const [id, of] of inRows.toSorted(([, one], [, other]) => one.number - other.number)) known.keys[id] = of;
    const limits = new Map(
      (keyLimits?.get(accountId) ?? []).map(({ id, value }) => [id, amount.parse(JSON.parse(value))]),
    );
    for (const id of new Set([...Object.keys(known.keys), ...limits.keys()])) {
      const limit = limits.get(id);
      if (limit !== undefined) known.spend.keyLimits[id] = limit;
    }
    const payments = known.billing?.payments;
    if (payments !== undefined) {
      const ended = (attempts?.get(accountId) ?? []).map(
        ({ id, value }) => [id, attempt.parse(JSON.parse(value))] as const,
      );
      const all = [...Object.entries(payments.attempts), ...ended];
      payments.attempts = Object.fromEntries(all.sort(([one], [other]) => (one < other ? -1 : 1)));
    }
    // An account that has no period is not read once more for it.
    const isRead = isOfThisVersion && known.billing?.plan?.period != null;
    const ended = (attempts?.get(accountId) ?? []).map(({ id, value }) => [id, value] as const);
    const stored = isRead ? STORED_PARTS.endedAttempts.put(accountOfText(state), ended) : null;
    return { ...known, revision, paymentsOfPeriod: paidOf(known, stored) };
  });
}

function paidOf({ billing }: Pick<KnownAccount, 'billing'>, stored: OpenAccount | null): PaymentOfPeriod[] {
  const endMs = billing?.plan?.period?.endMs;
  if (endMs === undefined) return [];
  const counted = stored === null ? null : new Set<string>(paymentsOfPeriod(stored).map(({ attemptId }) => attemptId));
  return Object.values(billing?.payments?.attempts ?? {})
    .filter(({ attemptId, state, period }) => counted?.has(attemptId) ?? (state === 'paid' && period?.endMs === endMs))
    .map((one) => paymentOfPeriod.parse(one));
}
