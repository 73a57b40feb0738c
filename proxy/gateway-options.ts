import type { Logger } from 'pino';
import type { Configuration } from '../contracts/configuration.ts';
import type { EventLog } from '../contracts/event-log.ts';
import type { LedgerLostError } from '../ledger/identity/ledger-lost.ts';

/** What a gateway is started with. */
export interface GatewayOptions {
  readonly configuration: Configuration;
  readonly log: EventLog;
  readonly logger: Logger;
  /** Wall clock, as the machine has it. */
  readonly clock: () => number;
  /** Milliseconds by a clock that nobody sets, against which the other is watched. */
  readonly monotonic: () => number;
  /** Once the ledger has proved to be whole (ledger-watch.ts), before anything is read from it. */
  readonly onLedgerWhole?: () => Promise<void>;
  /** The ledger has turned out to lack what is known of it after the gateway had started. Nothing is admitted any more. */
  readonly onLedgerLost?: (error: LedgerLostError) => void;
}
