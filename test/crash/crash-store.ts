import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import type { StoreOfRun } from '../soak/store-of-run.ts';

/** The event store of a crash run, with its trouble. */
export interface CrashStore {
  readonly eventLog: StoreOfRun['eventLog'];
  /** How often each kind of trouble has struck. */
  readonly struck: Readonly<Record<string, number>>;
  /** The trouble begins. */
  begin(): void;
  /** From here on the store does nothing wrong. */
  calm(): Promise<void>;
  /** What the store holds of an account: no gateway is asked. */
  accountEvents(accountId: string): Promise<StoredEvent[]>;
  close(): Promise<void>;
}
