import type { DebitData, StoredEvent, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';

/** An account's events as they are stored, written by hand, for the auditor to read. */

/** Per token of output 2.000003 micro-USD: costs are no whole ones. */
export const PRICES: ModelPrices = {
  input: 1_000_000n,
  output: 2_000_003n,
  cacheRead: 100_000n,
  cacheWrite5m: 1_250_000n,
  cacheWrite1h: 2_000_000n,
  hasFastLane: false,
  uses: new Map([['web_search_requests', 10_000_000_000n]]),
  hasLongWindow: false,
  isCancelled: false,
};

export const usageData = (requestId: string, more: Partial<UsageData> = {}): UsageData => ({
  requestId,
  keyId: 'key_1',
  model: 'opal-x',
  upstream: { requestId: `up_${requestId}` },
  tokens: { input: 0, output: 100, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
  uses: {},
  unpriced: [],
  lane: 'standard',
  outcome: 'completed',
  source: 'reported',
  billable: true,
  startedAt: '2026-11-21T10:00:00.000Z',
  finishedAt: '2026-11-21T12:00:00.000Z',
  rateCard: { id: 'opal-x', version: 1, hash: 'a3'.repeat(32) },
  ...more,
});

/** 100 output tokens are 200.0003 micro-USD, here of 1,000 that there were. */
export const debitData = (requestId: string, more: Partial<DebitData> = {}): DebitData => ({
  requestId,
  keyId: 'key_1',
  model: 'opal-x',
  lane: 'standard',
  cost: '200000300',
  carryBefore: '0',
  carryAfter: '300',
  amount: '200',
  leftOut: '0',
  lines: [{ tokenClass: 'output', tokens: 100, rate: '2000003', cost: '200000300' }],
  uses: [],
  grants: [{ grantId: 'g1', amount: '200' }],
  uncovered: '0',
  balanceAfter: '800',
  month: '2026-11',
  monthToDateAfter: '200',
  keyMonthToDateAfter: '200',
  ...more,
});

export const grantData = (grantId: string, amount: string, more: object = {}): object => ({
  ...{ grantId, amount, costBasis: '0', priority: 1 },
  ...{ effectiveAt: '2026-11-01T00:00:00.000Z', expiresAt: null, ...more },
});

export type Written = readonly [type: string, data: object];
/** An account that is open and has a key. */
const BEGUN: readonly Written[] = [
  ['AccountOpened', { accountId: 'acct_x', kind: 'personal', email: 'x@example.com' }],
  ['ApiKeyIssued', { keyId: 'key_1', expiresAt: null, models: null, monthlyLimit: null }],
];
export const stored = (written: readonly Written[]): StoredEvent[] =>
  [...BEGUN, ...written].map(([type, data], revision) => ({
    revision,
    position: revision + 1,
    id: `id_${revision}`,
    type,
    data,
  }));
