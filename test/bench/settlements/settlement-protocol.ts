/** What the benchmark tells a settler's process over IPC, and hears from it. */
/** `eventstoredb-plain` appends by a call each, where `eventstoredb` does by one call for all. */
export const SETTLEMENT_LOGS = ['sqlite', 'eventstoredb', 'eventstoredb-plain'] as const;
/** The same log without a sealer and with one, as a gateway has it. */
export const SEALING_LOGS = ['sqlite', 'sqlite-sealed'] as const;
export type SettlementLog = (typeof SETTLEMENT_LOGS)[number] | (typeof SEALING_LOGS)[number];

/** How the finished requests are spread: all on one account, or at random over a thousand. */
export const SETTLEMENT_SPREADS = { 'one hot account': 1, '1,000 accounts': 1_000 } as const;
export type SettlementSpread = keyof typeof SETTLEMENT_SPREADS;

export type SettlementCommand =
  /** Opens the log and every account of every spread; comes first. */
  | {
      readonly type: 'open';
      readonly log: SettlementLog;
      /** The SQLite file, or the connection string. */
      readonly at: string;
      /** What a server's streams of this run begin with: it may be one that others use, and earlier runs. */
      readonly streamPrefix: string;
    }
  | { readonly type: 'start'; readonly spread: SettlementSpread }
  /** Starts a window: the counters begin at 0. */
  | { readonly type: 'mark' }
  /** Ends the window: the counters come back. */
  | { readonly type: 'read' }
  /** Submits nothing more and waits until all is settled. */
  | { readonly type: 'stop' };

export interface SettlementWindow {
  readonly seconds: number;
  /** Requests whose usage and debit came into the ledger within the window. */
  readonly settled: number;
  readonly appends: number;
  /** From submission to settlement, in microseconds. */
  readonly p50Us: number;
  readonly p99Us: number;
}

export type SettlementReply =
  | { readonly type: 'done' }
  | { readonly type: 'window'; readonly window: SettlementWindow }
  | { readonly type: 'failed'; readonly reason: string };
