import type { z } from 'zod';
import { isObject, type JsonObject } from './json-object.ts';
import { amountOfText, microUsd, picoUsd, rate } from './money.ts';
import { isStoredDebit, isStoredUsage, type StoredDebit, type StoredUsage, sizeOf } from './usage-as-stored.ts';
import type { usageEvents } from './usage-events.ts';

type Usage = z.output<typeof usageEvents.UsageRecorded>;
type Debit = z.output<typeof usageEvents.CreditsDebited>;

/**
 * The two events that every request leaves, read and written by hand: each proxy reads those of all, and by zod a settled
 * request cost a quarter more in all, up to a half (`npm run bench -- --only settlements`). The schemas (usage-events.ts) are the rule: what is
 * done here is only what they would surely do. Otherwise it is null, and zod is asked, which tells what is amiss.
 *
 * @param data parsed from JSON for this call, in today's form: parts of it go into what is returned
 */
export function readByHand(type: string, data: unknown): Usage | Debit | null {
  if (!isObject(data)) return null;
  if (type === 'UsageRecorded') return isStoredUsage(data) ? usageOf(data) : null;
  if (type === 'CreditsDebited') return isStoredDebit(data) ? debitOf(data) : null;
  return null;
}

/** Whether `readByHand` would read them. */
export const isTakenByHand = (type: string, data: unknown): boolean =>
  isObject(data) &&
  ((type === 'UsageRecorded' && isStoredUsage(data)) || (type === 'CreditsDebited' && isStoredDebit(data)));

/** The data as they are stored, with their fields in the schema's order; null as above. */
export function storeByHand(type: string, data: JsonObject): StoredUsage | StoredDebit | null {
  if (type === 'UsageRecorded') return storedUsage(data as Usage);
  if (type === 'CreditsDebited') return storedDebit(data as Debit);
  return null;
}

const usageOf = (of: StoredUsage): Usage => ({
  ...of,
  hold: of.hold === null ? null : microUsd(amountOfText(of.hold)),
});

const debitOf = (of: StoredDebit): Debit => ({
  ...of,
  cost: picoUsd(amountOfText(of.cost)),
  carryBefore: picoUsd(amountOfText(of.carryBefore)),
  carryAfter: picoUsd(amountOfText(of.carryAfter)),
  amount: microUsd(amountOfText(of.amount)),
  leftOut: microUsd(amountOfText(of.leftOut)),
  lines: of.lines.map((line) => ({
    ...line,
    rate: rate(amountOfText(line.rate)),
    cost: picoUsd(amountOfText(line.cost)),
  })),
  uses: of.uses.map((use) => ({ ...use, rate: rate(amountOfText(use.rate)), cost: picoUsd(amountOfText(use.cost)) })),
  grants: of.grants.map((share) => ({ ...share, amount: microUsd(amountOfText(share.amount)) })),
  uncovered: microUsd(amountOfText(of.uncovered)),
  balanceAfter: microUsd(amountOfText(of.balanceAfter)),
  monthToDateAfter: microUsd(amountOfText(of.monthToDateAfter)),
  keyMonthToDateAfter: microUsd(amountOfText(of.keyMonthToDateAfter)),
});

function storedUsage(of: Usage): StoredUsage | null {
  const stored = {
    requestId: of.requestId,
    keyId: of.keyId,
    model: of.model,
    upstream: of.upstream,
    tokens: of.tokens,
    uses: of.uses,
    unpriced: of.unpriced,
    lane: of.lane,
    outcome: of.outcome,
    source: of.source,
    billable: of.billable,
    startedAt: of.startedAt,
    finishedAt: of.finishedAt,
    rateCard: of.rateCard,
    hold: of.hold === null ? null : textOf(of.hold),
  };
  if (sizeOf(of) !== sizeOf(stored) || !isStoredUsage(stored)) return null;
  const { upstream, tokens, rateCard } = stored;
  stored.upstream = { provider: upstream.provider, model: upstream.model, requestId: upstream.requestId };
  stored.tokens = {
    input: tokens.input,
    output: tokens.output,
    cacheRead: tokens.cacheRead,
    cacheWrite5m: tokens.cacheWrite5m,
    cacheWrite1h: tokens.cacheWrite1h,
  };
  stored.rateCard = { id: rateCard.id, version: rateCard.version, hash: rateCard.hash };
  return stored;
}

function storedDebit(of: Debit): StoredDebit | null {
  const stored = {
    requestId: of.requestId,
    keyId: of.keyId,
    model: of.model,
    lane: of.lane,
    cost: textOf(of.cost),
    carryBefore: textOf(of.carryBefore),
    carryAfter: textOf(of.carryAfter),
    amount: textOf(of.amount),
    leftOut: textOf(of.leftOut),
    lines: storedEach(of.lines, storedLine),
    uses: storedEach(of.uses, storedUse),
    grants: storedEach(of.grants, storedShare),
    uncovered: textOf(of.uncovered),
    balanceAfter: textOf(of.balanceAfter),
    month: of.month,
    monthToDateAfter: textOf(of.monthToDateAfter),
    keyMonthToDateAfter: textOf(of.keyMonthToDateAfter),
    ...(of.leaseId === undefined ? {} : { leaseId: of.leaseId }),
  };
  return sizeOf(of) === sizeOf(stored) && isStoredDebit(stored) ? stored : null;
}

const storedLine = ({ tokenClass, tokens, rate, cost }: Debit['lines'][number]): StoredDebit['lines'][number] => ({
  tokenClass,
  tokens,
  rate: textOf(rate),
  cost: textOf(cost),
});

const storedUse = ({ use, count, rate, cost }: Debit['uses'][number]): StoredDebit['uses'][number] => ({
  use,
  count,
  rate: textOf(rate),
  cost: textOf(cost),
});

const storedShare = ({ grantId, amount }: Debit['grants'][number]): StoredDebit['grants'][number] => ({
  grantId,
  amount: textOf(amount),
});

/** Null, which the check refuses, where one has a field that would be left out. */
function storedEach<T extends object, S extends object>(list: readonly T[], storedOne: (one: T) => S): S[] | null {
  const stored = list.map(storedOne);
  return list.every((one, index) => sizeOf(one) === sizeOf(stored[index] ?? one)) ? stored : null;
}

/** Of what is no amount, what the check refuses. */
const textOf = (amount: bigint): string => (typeof amount === 'bigint' ? amount.toString() : '');
