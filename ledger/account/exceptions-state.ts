import { z } from 'zod';
import { keyIdField, laneField, microUsdField, picoUsdField, requestIdField } from '../../contracts/event-fields.ts';
import { microUsd } from '../../contracts/money.ts';
import type { KeyedTree } from './keyed-tree.ts';

const ms = z.int();

export const billingExceptionSchema = z.strictObject({
  requestId: requestIdField,
  keyId: keyIdField,
  model: z.string(),
  lane: laneField,
  /** The request's own instants, which its debit would burn grants by. */
  startedAtMs: ms,
  finishedAtMs: ms,
  /** What the request's hold left out of its debit. */
  leftOut: microUsdField,
  /** What usage costs that came when the request was already `recovered`; null where none did. */
  late: picoUsdField.nullable(),
  /** What was reported and has no price. */
  unpriced: z.array(z.string()),
});
/** What an operator has to approve or drop. (An exception of the bill, not of the program.) */
export type BillingException = z.infer<typeof billingExceptionSchema>;

/** How one ended. */
export const exceptionEndSchema = z.enum(['approved', 'dropped']);
export type ExceptionEnd = z.infer<typeof exceptionEndSchema>;

/** What is known of an account's exceptions beside each by itself. */
export const exceptionsInSumSchema = z.strictObject({
  openCount: z.int(),
  /** What the open ones would debit, each without the account's carry. */
  openAmount: microUsdField,
  /** How many of the open ones have no money in them, and how many such are not kept because there were too many. */
  withoutCost: z.int(),
  unlisted: z.int(),
  /** Of the usage that was folded last, whose debit may follow; null before the first. */
  lastUsage: billingExceptionSchema.pick({ requestId: true, startedAtMs: true, finishedAtMs: true }).nullable(),
});

/** Neither tree has a bound (each request may be in one), so no event copies them, no write has them whole. */
export type ExceptionsState = z.infer<typeof exceptionsInSumSchema> & {
  /** By request. */
  readonly open: KeyedTree<BillingException>;
  /** How the others ended, so that none ends, or comes, twice. */
  readonly ended: KeyedTree<ExceptionEnd>;
};

export const NO_EXCEPTIONS: ExceptionsState = {
  open: null,
  ended: null,
  openCount: 0,
  openAmount: microUsd(0n),
  withoutCost: 0,
  unlisted: 0,
  lastUsage: null,
};
