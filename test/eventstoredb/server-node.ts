import type { Endpoint, Faults } from './faults.ts';
import type { Gossip } from './gossip.ts';
import type { SeenCalls } from './seen-calls.ts';
import type { StoredLog } from './stored-log.ts';

/**
 * What a server does differently from the newest: before 23.10 it does not tell a subscriber that it has caught up, before
 * 24.2 it drops a live one that lags by more than 32 events.
 */
export type ServerVersion = '22.10' | '23.10' | '24.2';

/** What the calls of one run of a server share; a restart makes another. */
export interface ServerNode {
  readonly log: StoredLog;
  readonly faults: Faults;
  readonly gossip: Gossip;
  readonly seen: SeenCalls;
  /** Where this node is reached. */
  readonly endpoint: Endpoint;
  /** Whether Streams.BatchAppend is among the supported methods. */
  readonly batchAppend: boolean;
  /** The version whose wont it has. */
  readonly version: ServerVersion;
  /** Appends that are not stored yet, with those that came again meanwhile. */
  readonly underWay: Map<string, (() => void)[]>;
  /** Who may call, by name, with the password. Null: everybody. */
  readonly users: ReadonlyMap<string, string> | null;
  /** False once this run was killed: what it had not stored by then is never stored. */
  alive: boolean;
  /** Whether the TCP connection of a peer (`address:port`) still stands. */
  isConnected(peer: string): boolean;
  /** Resets the TCP connection of a peer. */
  cut(peer: string): void;
}
