import { isUsableAt, type OwnGrant } from './burn-own.ts';
import type { OwnLeases } from './own-leases.ts';
import type { DebitData, UsageData } from './stored-event.ts';

export interface OwnMonth {
  account: bigint;
  readonly keys: Map<string, bigint>;
}

/** Why a request is an exception, by what the auditor has read; amounts in pico-USD. */
export interface OwnException {
  readonly requestId: string;
  leftOut: bigint;
  late: bigint | null;
  readonly unpriced: string[];
  /** Null while nobody has ended it. */
  ended: 'approved' | 'dropped' | null;
}

/** An account as the auditor counts it, beside what it found wrong. */
export interface AccountBooks {
  readonly accountId: string;
  readonly faults: string[];
  readonly grants: OwnGrant[];
  readonly leases: OwnLeases;
  readonly months: Map<string, OwnMonth>;
  readonly usages: UsageData[];
  readonly debits: DebitData[];
  readonly exceptions: Map<string, OwnException>;
  /** Usage that was reported after its request had been recorded as `recovered`. */
  readonly late: UsageData[];
  revision: number;
  granted: bigint;
  /** Expired or revoked, as far as that is written down. */
  removed: bigint;
  /** With what was approved later. */
  debited: bigint;
  /** What no grant has covered yet. */
  uncovered: bigint;
  /** Pico-USD, exact: what all debits together cost, to the last part of a micro-USD. */
  exact: bigint;
  /** Micro-USD that holds left out of debits. */
  leftOut: bigint;
  carry: bigint;
}

/** Granted, less what is gone and what was debited. */
export const balanceOf = ({ granted, removed, debited }: AccountBooks): bigint => granted - removed - debited;

export const emptyBooks = (accountId: string): AccountBooks => ({
  accountId,
  faults: [],
  grants: [],
  leases: new Map(),
  months: new Map(),
  usages: [],
  debits: [],
  exceptions: new Map(),
  late: [],
  revision: -1,
  granted: 0n,
  removed: 0n,
  debited: 0n,
  uncovered: 0n,
  exact: 0n,
  leftOut: 0n,
  carry: 0n,
});

/** What can be spent at an instant: what usable grants hold, less what is owed. */
export const availableOf = ({ grants, uncovered }: AccountBooks, atMs: number): bigint =>
  grants.reduce((sum, grant) => (isUsableAt(grant, atMs) ? sum + grant.remaining : sum), -uncovered);
