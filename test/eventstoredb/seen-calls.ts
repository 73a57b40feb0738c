import type { Metadata } from '@grpc/grpc-js';

export interface SeenCall {
  /** The RPC's name: `Append`, `BatchAppend`, `Read`, `Subscribe`, … */
  readonly rpc: string;
  /** The `authorization` header; null where there was none, as always without TLS. */
  readonly authorization: string | null;
  readonly connectionName: string | null;
  readonly requiresLeader: boolean;
}

const CALLS_MAX = 1_000;

/** The last calls, oldest first, for assertions on what a client sends. */
export class SeenCalls {
  readonly #calls: SeenCall[] = [];
  /** Calls since the start, beyond those that are kept. */
  count = 0;
  /** Appends that came, by whichever call, also again while the first try was under way. */
  appends = 0;
  /** Events written to reads and subscriptions. */
  eventsWritten = 0;
  /** Live subscribers that were dropped because they lagged. */
  slowConsumers = 0;

  list(rpc?: string): readonly SeenCall[] {
    return rpc === undefined ? this.#calls : this.#calls.filter((call) => call.rpc === rpc);
  }

  record(rpc: string, metadata: Metadata): SeenCall {
    const call: SeenCall = {
      rpc,
      authorization: first(metadata, 'authorization'),
      connectionName: first(metadata, 'connection-name'),
      requiresLeader: first(metadata, 'requires-leader') === 'true',
    };
    this.count += 1;
    this.#calls.push(call);
    // Cut in halves, so that a call costs nothing however many have been.
    if (this.#calls.length > 2 * CALLS_MAX) this.#calls.splice(0, CALLS_MAX);
    return call;
  }
}

function first(metadata: Metadata, key: string): string | null {
  const [value] = metadata.get(key);
  return value === undefined ? null : value.toString();
}
