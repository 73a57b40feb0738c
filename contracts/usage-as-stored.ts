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
  USE_NAME_PATTERN,
} from './event-fields.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { usageEvents } from './usage-events.ts';

const { UsageRecorded, CreditsDebited } = usageEvents;
export type StoredUsage = z.input<typeof UsageRecorded>;
export type StoredDebit = z.input<typeof CreditsDebited>;

/** True only where the schema takes it. A field beyond those that are named shows in their count. */
export const isStoredUsage = (of: JsonObject): of is StoredUsage & JsonObject =>
  sizeOf(of) === USAGE_FIELDS &&
  matches(REQUEST_ID_PATTERN, of.requestId) &&
  isText(of.keyId) &&
  isText(of.model) &&
  isUpstream(of.upstream) &&
  isTokens(of.tokens) &&
  isUsed(of.uses) &&
  isEach(of.unpriced, isText) &&
  LANES.has(of.lane) &&
  OUTCOMES.has(of.outcome) &&
  SOURCES.has(of.source) &&
  typeof of.billable === 'boolean' &&
  matches(INSTANT_PATTERN, of.startedAt) &&
  matches(INSTANT_PATTERN, of.finishedAt) &&
  isRateCard(of.rateCard) &&
  (of.hold === null || isAmount(of.hold));

/** The same of a debit. */
export const isStoredDebit = (of: JsonObject): of is StoredDebit & JsonObject =>
  sizeOf(of) === (of.leaseId === undefined ? DEBIT_FIELDS - 1 : DEBIT_FIELDS) &&
  matches(REQUEST_ID_PATTERN, of.requestId) &&
  isText(of.keyId) &&
  isText(of.model) &&
  LANES.has(of.lane) &&
  isAmount(of.cost) &&
  isAmount(of.carryBefore) &&
  isAmount(of.carryAfter) &&
  isAmount(of.amount) &&
  isAmount(of.leftOut) &&
  isEach(of.lines, isLine) &&
  isEach(of.uses, isUse) &&
  isEach(of.grants, isShare) &&
  isAmount(of.uncovered) &&
  matches(BALANCE_PATTERN, of.balanceAfter) &&
  matches(MONTH_PATTERN, of.month) &&
  isAmount(of.monthToDateAfter) &&
  isAmount(of.keyMonthToDateAfter) &&
  (of.leaseId === undefined || isText(of.leaseId));

export const sizeOf = (of: object): number => Object.keys(of).length;

const USAGE_FIELDS = sizeOf(UsageRecorded.shape);
/** With the lease, which may be absent. */
const DEBIT_FIELDS = sizeOf(CreditsDebited.shape);
const TOKEN_CLASSES: ReadonlySet<unknown> = new Set(tokenClassField.options);
const LANES: ReadonlySet<unknown> = new Set(laneField.options);
const OUTCOMES: ReadonlySet<unknown> = new Set(UsageRecorded.shape.outcome.options);
const SOURCES: ReadonlySet<unknown> = new Set(UsageRecorded.shape.source.options);

const matches = (pattern: RegExp, value: unknown): boolean => typeof value === 'string' && pattern.test(value);

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

const isAmount = (value: unknown): boolean => matches(AMOUNT_PATTERN, value);

const isWhole = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least;

function isEach(list: unknown, isOne: (value: unknown) => boolean): boolean {
  if (!Array.isArray(list)) return false;
  for (const one of list) if (!isOne(one)) return false;
  return true;
}

const isUpstream = (of: unknown): boolean =>
  isObject(of) &&
  sizeOf(of) === 3 &&
  isText(of.provider) &&
  isText(of.model) &&
  (of.requestId === null || typeof of.requestId === 'string');

const isTokens = (of: unknown): boolean =>
  isObject(of) &&
  sizeOf(of) === 5 &&
  isWhole(of.input, 0) &&
  isWhole(of.output, 0) &&
  isWhole(of.cacheRead, 0) &&
  isWhole(of.cacheWrite5m, 0) &&
  isWhole(of.cacheWrite1h, 0);

function isUsed(of: unknown): boolean {
  if (!isObject(of)) return false;
  for (const name of Object.keys(of)) if (!USE_NAME_PATTERN.test(name) || !isWhole(of[name], 1)) return false;
  return true;
}

const isRateCard = (of: unknown): boolean =>
  isObject(of) && sizeOf(of) === 3 && isText(of.id) && isWhole(of.version, 1) && matches(HASH_PATTERN, of.hash);

const isLine = (of: unknown): boolean =>
  isObject(of) &&
  sizeOf(of) === 4 &&
  TOKEN_CLASSES.has(of.tokenClass) &&
  isWhole(of.tokens, 1) &&
  isAmount(of.rate) &&
  isAmount(of.cost);

const isUse = (of: unknown): boolean =>
  isObject(of) &&
  sizeOf(of) === 4 &&
  matches(USE_NAME_PATTERN, of.use) &&
  isWhole(of.count, 1) &&
  isAmount(of.rate) &&
  isAmount(of.cost);

const isShare = (of: unknown): boolean => isObject(of) && sizeOf(of) === 2 && isText(of.grantId) && isAmount(of.amount);
