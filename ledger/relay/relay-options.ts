import type { Logger } from 'pino';
import type { EventLog } from '../../contracts/event-log.ts';
import type { LedgerPlace } from '../identity/assert-own-topic.ts';
import type { Publisher } from './publisher.ts';
import type { RelayMetrics } from './relay-metrics.ts';

export interface RelayOptions {
  readonly log: EventLog;
  readonly publisher: Publisher;
  /** The topic. */
  readonly feed: string;
  /** This process's name among relays. */
  readonly relay: string;
  readonly claimMs: number;
  readonly metrics: RelayMetrics;
  readonly logger: Logger;
  readonly clock: () => number;
  /** The ledger as an operator knows it. */
  readonly place: LedgerPlace;
  /** Ends, as though it were told to stop, when all is published that the log held when it began. */
  readonly endsCaughtUp?: boolean;
  /** Between two looks at the topic while it is written to. */
  readonly topicLookMs?: number;
  /** Aborted: the send under way is finished, the checkpoint written, the claim released. */
  readonly signal: AbortSignal;
  /** What the relay is about to reject with, before it has closed what it has open. */
  readonly onEnding?: (error: unknown) => void;
}
