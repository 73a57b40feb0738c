/**
 * Events as `gateway ledger events --json` prints them. The auditor reads this text with its own eyes: nothing under
 * audit/ imports the product, amounts are decimal strings that it turns into bigint itself.
 */
export interface StoredEvent {
  readonly revision: number;
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

export const TOKEN_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
export type Tokens = Readonly<Record<(typeof TOKEN_CLASSES)[number], number>>;

export interface UsageData {
  readonly requestId: string;
  readonly keyId: string;
  readonly model: string;
  readonly upstream: { readonly requestId: string | null };
  readonly tokens: Tokens;
  readonly lane: string;
  readonly outcome: string;
  readonly source: string;
  readonly billable: boolean;
  readonly startedAt: string;
  readonly finishedAt: string;
}

export interface DebitData {
  readonly requestId: string;
  readonly keyId: string;
  readonly cost: string;
  readonly carryBefore: string;
  readonly carryAfter: string;
  readonly amount: string;
  readonly lines: readonly {
    readonly tokenClass: string;
    readonly tokens: number;
    readonly rate: string;
    readonly cost: string;
  }[];
  readonly grants: readonly { readonly grantId: string; readonly amount: string }[];
  readonly uncovered: string;
  readonly balanceAfter: string;
  readonly month: string;
  readonly monthToDateAfter: string;
  readonly keyMonthToDateAfter: string;
}

export interface GrantData {
  readonly grantId: string;
  readonly amount: string;
  readonly costBasis: string;
  readonly priority: number;
  readonly effectiveAt: string;
  readonly expiresAt: string | null;
}

/** One event a line. */
export const readStoredEvents = (lines: string): StoredEvent[] =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredEvent);

export const usagesIn = (events: readonly StoredEvent[]): UsageData[] =>
  events.flatMap(({ type, data }) => (type === 'UsageRecorded' ? [data as UsageData] : []));

export const debitsIn = (events: readonly StoredEvent[]): DebitData[] =>
  events.flatMap(({ type, data }) => (type === 'CreditsDebited' ? [data as DebitData] : []));
