import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { MANUAL } from '../contracts/payments-configuration.ts';
import { inOrder } from '../ledger/account/attempt-order.ts';
import { balancePages, type PagedState } from './known-views.ts';

const attemptSchema = z.looseObject({
  attemptId: z.string(),
  kind: z.string(),
  provider: z.string(),
  startedAtMs: z.number(),
  state: z.string(),
  /** Versions before 18 have none. */
  decline: z.string().nullish(),
  period: z.looseObject({ startMs: z.number() }).nullish(),
});

/** Of an account as any version of the balance view has it, what is to be paid. */
const payingSchema = z.looseObject({
  billing: z
    .looseObject({
      payments: z.looseObject({
        method: z.unknown().nullable(),
        /** Since version 18 those that are open. */
        attempts: z.record(z.string(), attemptSchema),
        reload: z
          .looseObject({
            consentedAtMs: z.number().nullable(),
            declines: z.number(),
            unanswered: z.number().optional(),
          })
          .nullable(),
      }),
      plan: z
        .looseObject({
          period: z.unknown().nullable(),
          due: z.looseObject({ startMs: z.number(), graceUntilMs: z.number() }).nullable(),
        })
        .nullish(),
    })
    .optional(),
});

type StoredBilling = NonNullable<z.infer<typeof payingSchema>['billing']>;
type StoredAttempt = z.infer<typeof attemptSchema>;

const OPEN: ReadonlySet<string> = new Set(['open', 'action required']);
/** In the text of every account of which there is anything to say. */
const TELLING = /"state":"(?:open|action required)"|"graceUntilMs":|"reload":\{/;

type AwaitedAttempt = Pick<StoredAttempt, 'attemptId' | 'provider' | 'startedAtMs'>;

/** What an account has to pay, or cannot. */
export interface AwaitedPayments {
  readonly accountId: string;
  readonly open: readonly AwaitedAttempt[];
  /** What was to be paid by itself, and was given up with nothing charged, since nobody has answered, or the provider has refused: another is to be begun. */
  readonly givenUp: readonly AwaitedAttempt[];
  /** Until when a plan goes on whose period is not paid; null where none is like that. */
  readonly graceUntilMs: number | null;
  /** Auto-reload is on, and nothing is saved that may be charged. */
  readonly lacksMethod: boolean;
}

interface Looked {
  readonly found: readonly AwaitedPayments[];
  /** Accounts that were looked at. */
  readonly count: number;
  readonly isWhole: boolean;
}

/** What stands in a views' file, as far as there is time. @throws Error where it cannot be read as views */
export async function awaitedPaymentsIn(path: string, nowMs: number, hasTime: () => boolean): Promise<Looked> {
  const found: AwaitedPayments[] = [];
  let count = 0;
  for (const page of balancePages(path)) {
    for (const account of page) if (TELLING.test(account.state)) found.push(awaitedOf(account, nowMs));
    count += page.length;
    await nextTurn();
    if (!hasTime()) return { found, count, isWhole: false };
  }
  return { found, count, isWhole: true };
}

function awaitedOf({ accountId, state, parts }: PagedState, nowMs: number): AwaitedPayments {
  const { billing } = payingSchema.parse(JSON.parse(state));
  const { attempts = {}, reload = null, method = null } = billing?.payments ?? {};
  const { period = null, due = null } = billing?.plan ?? {};
  return {
    accountId,
    open: Object.values(attempts).filter((one) => OPEN.has(one.state)),
    givenUp: billing === undefined ? [] : givenUpOf(billing, parts),
    graceUntilMs: period !== null && due !== null && due.startMs <= nowMs ? due.graceUntilMs : null,
    lacksMethod: reload !== null && reload.consentedAtMs !== null && method === null,
  };
}

/** The newest of each kind, where it still matters. What an operator takes, or has ended, is an operator's to say. */
function givenUpOf(
  { payments: { attempts, reload }, plan }: StoredBilling,
  parts: PagedState['parts'],
): AwaitedAttempt[] {
  const ended = parts('attempt').map(([, value]) => attemptSchema.parse(JSON.parse(value)));
  const all = [...Object.values(attempts), ...ended];
  // None in vain: it is off, or configured anew since. Earlier versions of the view count them among the declines.
  const isInVain = reload !== null && (reload.unanswered ?? reload.declines) > 0;
  const startMs = plan?.due?.startMs;
  return [
    ...(isInVain ? newestOf(all.filter(({ kind }) => kind === 'reload')) : []),
    ...newestOf(all.filter(({ kind, period }) => kind === 'renewal' && period?.startMs === startMs)),
  ].filter(({ state, provider, decline }) => state === 'abandoned' && provider !== MANUAL && !decline);
}

const newestOf = (attempts: readonly StoredAttempt[]): StoredAttempt[] => inOrder(attempts).slice(-1);
