import type { z } from 'zod';
import {
  AMOUNT_PATTERN,
  BALANCE_PATTERN,
  HASH_PATTERN,
  INSTANT_PATTERN,
  laneField,
  MONTH_PATTERN,
  REQUEST_ID_PATTERN,
  tokenClassField,
} from './event-fields.ts';
import type { GrantId, KeyId, LeaseId, RequestId } from './ids.ts';
import { microUsd, picoUsd, rate } from './money.ts';
import { usageEvents } from './usage-events.ts';

const { UsageRecorded, CreditsDebited } = usageEvents;
type Usage = z.output<typeof UsageRecorded>;
type Debit = z.output<typeof CreditsDebited>;
type Line = Debit['lines'][number];
type Share = Debit['grants'][number];

/** Of a text in which nothing is escaped, with its quotes. Each value is kept, by brackets around it. */
const TEXT = '"([ !#-[\\]-\\uffff]+)"';
const quoted = ({ source }: RegExp): string => `"(${withoutGroups(source.slice(1, -1))})"`;
const oneOf = (values: readonly string[]): string => `"(${values.join('|')})"`;
/** No greater than is safe. */
const WHOLE = '(0|[1-9]\\d{0,14})';
const COUNT = '([1-9]\\d{0,14})';
const AMOUNT = quoted(AMOUNT_PATTERN);
const INSTANT = quoted(INSTANT_PATTERN);

/** Groups that are not kept cost less. */
function withoutGroups(pattern: string): string {
  return pattern.replaceAll(/\((?!\?)/g, '(?:');
}

const form = (fields: Readonly<Record<string, string>>): string =>
  `\\{${Object.entries(fields)
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}\\}`;
/** Kept as one text, for each would be kept in the place of the one before. */
const listOf = (fields: Readonly<Record<string, string>>): string => {
  const one = withoutGroups(form(fields));
  return `\\[((?:${one}(?:,${one})*)?)\\]`;
};

const TOKENS = { input: WHOLE, output: WHOLE, cacheRead: WHOLE, cacheWrite5m: WHOLE, cacheWrite1h: WHOLE };
const LINE: Readonly<Record<keyof Line, string>> = {
  ...{ tokenClass: oneOf(tokenClassField.options), tokens: COUNT, rate: AMOUNT, cost: AMOUNT },
};
const SHARE: Readonly<Record<keyof Share, string>> = { grantId: TEXT, amount: AMOUNT };
const USAGE: Readonly<Record<keyof Usage, string>> = {
  ...{ requestId: quoted(REQUEST_ID_PATTERN), keyId: TEXT, model: TEXT },
  upstream: form({ provider: TEXT, model: TEXT, requestId: `(?:${TEXT}|null)` }),
  ...{ tokens: form(TOKENS), uses: '\\{\\}', unpriced: '\\[\\]', lane: oneOf(laneField.options) },
  ...{ outcome: oneOf(UsageRecorded.shape.outcome.options), source: oneOf(UsageRecorded.shape.source.options) },
  ...{ billable: '(true|false)', startedAt: INSTANT, finishedAt: INSTANT },
  rateCard: form({ id: TEXT, version: COUNT, hash: quoted(HASH_PATTERN) }),
  hold: `(?:${AMOUNT}|null)`,
};
const DEBIT: Readonly<Record<Exclude<keyof Debit, 'leaseId'>, string>> = {
  ...{ requestId: quoted(REQUEST_ID_PATTERN), keyId: TEXT, model: TEXT, lane: oneOf(laneField.options), cost: AMOUNT },
  ...{ carryBefore: AMOUNT, carryAfter: AMOUNT, amount: AMOUNT, leftOut: AMOUNT },
  ...{ lines: listOf(LINE), uses: '\\[\\]', grants: listOf(SHARE), uncovered: AMOUNT },
  ...{ balanceAfter: quoted(BALANCE_PATTERN), month: quoted(MONTH_PATTERN), monthToDateAfter: AMOUNT },
  keyMonthToDateAfter: AMOUNT,
};
const USAGE_TEXT = new RegExp(`^${form(USAGE)}$`);
const DEBIT_TEXT = new RegExp(`^${form(DEBIT).slice(0, -2)}(?:,"leaseId":${TEXT})?\\}$`);

/**
 * True only for JSON that is as it is stored, each name once and in its place, and that the schema takes: most of what there
 * is, in a third of the time in which it is looked at when it is parsed.
 */
export const isUsageText = (type: string, json: string): type is keyof typeof usageEvents =>
  type === 'UsageRecorded' ? USAGE_TEXT.test(json) : type === 'CreditsDebited' && DEBIT_TEXT.test(json);

/** What the schema reads in such JSON, without it being parsed, in half of the time; null for any other, which may be right all the same. */
export function readText(type: string, json: string): Usage | Debit | null {
  if (type === 'UsageRecorded') return usageOf(USAGE_TEXT.exec(json) as UsageMatch | null);
  if (type === 'CreditsDebited') return debitOf(DEBIT_TEXT.exec(json) as DebitMatch | null);
  return null;
}

/** The text, and what is kept of it. */
type UsageMatch = readonly [
  ...[json: string, requestId: RequestId, keyId: KeyId, model: string],
  ...[provider: string, upstreamModel: string, upstreamId: string | undefined],
  ...[input: string, output: string, cacheRead: string, cacheWrite5m: string, cacheWrite1h: string],
  ...[lane: Usage['lane'], outcome: Usage['outcome'], source: Usage['source'], billable: string],
  ...[startedAt: string, finishedAt: string, card: string, version: string, hash: string, hold: string | undefined],
];

function usageOf(match: UsageMatch | null): Usage | null {
  if (match === null) return null;
  const [
    ,
    requestId,
    keyId,
    model,
    provider,
    upstreamModel,
    upstreamId,
    input,
    output,
    cacheRead,
    cacheWrite5m,
    cacheWrite1h,
    lane,
    outcome,
    source,
    billable,
    startedAt,
    finishedAt,
    card,
    version,
    hash,
    hold,
  ] = match;
  return {
    requestId: own(requestId),
    keyId: own(keyId),
    model: own(model),
    upstream: { provider, model: upstreamModel, requestId: upstreamId ?? null },
    tokens: {
      input: wholeOf(input),
      output: wholeOf(output),
      cacheRead: wholeOf(cacheRead),
      cacheWrite5m: wholeOf(cacheWrite5m),
      cacheWrite1h: wholeOf(cacheWrite1h),
    },
    uses: {},
    unpriced: [],
    lane,
    outcome,
    source,
    billable: billable === 'true',
    startedAt: own(startedAt),
    finishedAt,
    rateCard: { id: card, version: wholeOf(version), hash },
    hold: hold === undefined ? null : microUsd(amountOf(hold)),
  };
}

type DebitMatch = readonly [
  ...[json: string, requestId: RequestId, keyId: KeyId, model: string, lane: Debit['lane']],
  ...[cost: string, carryBefore: string, carryAfter: string, amount: string, leftOut: string],
  ...[lines: string, grants: string, uncovered: string, balanceAfter: string],
  ...[month: string, monthToDateAfter: string, keyMonthToDateAfter: string, leaseId: LeaseId | undefined],
];

function debitOf(match: DebitMatch | null): Debit | null {
  if (match === null) return null;
  const [
    ,
    requestId,
    keyId,
    model,
    lane,
    cost,
    carryBefore,
    carryAfter,
    amount,
    leftOut,
    lines,
    grants,
    uncovered,
    balanceAfter,
    month,
    monthToDateAfter,
    keyMonthToDateAfter,
    leaseId,
  ] = match;
  const debit = {
    requestId: own(requestId),
    keyId: own(keyId),
    model: own(model),
    lane,
    cost: picoUsd(amountOf(cost)),
    carryBefore: picoUsd(amountOf(carryBefore)),
    carryAfter: picoUsd(amountOf(carryAfter)),
    amount: microUsd(amountOf(amount)),
    leftOut: microUsd(amountOf(leftOut)),
    lines: linesIn(lines),
    uses: [],
    grants: sharesIn(grants),
    uncovered: microUsd(amountOf(uncovered)),
    balanceAfter: microUsd(amountOf(balanceAfter)),
    month,
    monthToDateAfter: microUsd(amountOf(monthToDateAfter)),
    keyMonthToDateAfter: microUsd(amountOf(keyMonthToDateAfter)),
  };
  return leaseId === undefined ? debit : { ...debit, leaseId };
}

function linesIn(text: string): Line[] {
  const lines: Line[] = [];
  for (let at = 0; at < text.length; ) {
    const classAt = at + TO_CLASS;
    const classEnd = text.indexOf('"', classAt);
    const tokensAt = classEnd + TO_TOKENS;
    const tokensEnd = text.indexOf(',', tokensAt);
    const rateAt = tokensEnd + TO_RATE;
    const rateEnd = text.indexOf('"', rateAt);
    const costAt = rateEnd + TO_COST;
    const costEnd = text.indexOf('"', costAt);
    lines.push({
      tokenClass: text.slice(classAt, classEnd) as Line['tokenClass'],
      tokens: wholeOf(text.slice(tokensAt, tokensEnd)),
      rate: rate(amountOf(text.slice(rateAt, rateEnd))),
      cost: picoUsd(amountOf(text.slice(costAt, costEnd))),
    });
    at = costEnd + TO_NEXT;
  }
  return lines;
}

function sharesIn(text: string): Share[] {
  const shares: Share[] = [];
  for (let at = 0; at < text.length; ) {
    const grantAt = at + TO_GRANT;
    const grantEnd = text.indexOf('"', grantAt);
    const amountAt = grantEnd + TO_AMOUNT;
    const amountEnd = text.indexOf('"', amountAt);
    shares.push({
      grantId: text.slice(grantAt, grantEnd) as GrantId,
      amount: microUsd(amountOf(text.slice(amountAt, amountEnd))),
    });
    at = amountEnd + TO_NEXT;
  }
  return shares;
}

const TO_CLASS = '{"tokenClass":"'.length;
const TO_TOKENS = '","tokens":'.length;
const TO_RATE = ',"rate":"'.length;
const TO_COST = '","cost":"'.length;
const TO_GRANT = '{"grantId":"'.length;
const TO_AMOUNT = '","amount":"'.length;
const TO_NEXT = '"},'.length;

const ZERO = '0'.charCodeAt(0);
const MINUS = '-'.charCodeAt(0);
/** What has no more digits is a safe number. */
const SAFE_DIGITS = 15;

function wholeOf(digits: string): number {
  let whole = 0;
  for (let at = 0; at < digits.length; at++) whole = whole * 10 + digits.charCodeAt(at) - ZERO;
  return whole;
}

/** By a number where that is exact: in half of the time. */
function amountOf(digits: string): bigint {
  if (digits.length > SAFE_DIGITS || digits.charCodeAt(0) === MINUS) return BigInt(digits);
  const whole = wholeOf(digits);
  return whole === 0 ? 0n : BigInt(whole);
}

/**
 * A slice keeps the whole text that it is of, as long as it is kept itself, as the last request of each account is; what is shorter
 * than this is copied by V8. One of a joined text is of that alone.
 */
const COPIED = 12;
const own = <T extends string>(text: T): T => (text.length <= COPIED ? text : (` ${text}`.slice(1) as T));
