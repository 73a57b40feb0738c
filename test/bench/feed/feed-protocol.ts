import type { KafkaConfiguration } from '../../../contracts/kafka-configuration.ts';

export const FEED_CODECS = ['gzip', 'zstd'] as const;
export type FeedCodec = (typeof FEED_CODECS)[number];

/** Who fills a topic: our relay from the ledger, or the driver alone, from messages that are there before it begins. */
export const FEED_WRITERS = ['kafkajs', 'relay'] as const;
export type FeedWriter = (typeof FEED_WRITERS)[number];

/** Where views that begin with nothing are fed from. */
export const VIEW_SOURCES = ['log', 'topic'] as const;
type ViewSource = (typeof VIEW_SOURCES)[number];

/** What a process of its own does, once, and ends. */
export type FeedJob = {
  readonly kafka: KafkaConfiguration;
  /** The ledger's file. */
  readonly ledger: string;
} & (
  | {
      readonly type: 'fill';
      readonly writer: FeedWriter;
      readonly codec: FeedCodec;
      /** Of the published events: those before the clock starts, and all. */
      readonly warmUp: number;
      readonly events: number;
    }
  | { readonly type: 'views'; readonly source: ViewSource; readonly views: string }
);

export interface FeedResult {
  readonly seconds: number;
  /** Of the process, user and system, all threads, while the clock ran. */
  readonly cpuUs: number;
  /** What was counted while it ran. */
  readonly events: number;
  /** Sends that were; 0 for views. */
  readonly batches: number;
}

export type FillJob = Extract<FeedJob, { type: 'fill' }>;
