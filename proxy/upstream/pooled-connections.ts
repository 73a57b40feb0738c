import { type Dispatcher, Pool } from 'undici';
import type { AccountId } from '../../contracts/ids.ts';
import { ConnectionTurns } from './connection-turns.ts';
import { upstreamConnector } from './upstream-connector.ts';

interface PooledConnectionsOptions {
  readonly connections: number;
  /** Of them, the most that calls of one account may have at once, in percent. */
  readonly accountPercent: number;
  readonly waitingMax: number;
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
}

/** Keep-alive connections to one provider, and the queue for them: undici's own knows no accounts, and nobody leaves it. */
export class PooledConnections {
  readonly #pool: Pool;
  readonly #turns: ConnectionTurns;

  constructor(origin: string, options: PooledConnectionsOptions) {
    const { connections, accountPercent, waitingMax } = options;
    const ofOneMax = Math.max(1, Math.floor((connections * accountPercent) / 100));
    this.#turns = new ConnectionTurns({ connections, ofOneMax, waitingMax });
    this.#pool = new Pool(origin, {
      connections,
      // One request at a time on a connection: a slow answer must not stand before another.
      pipelining: 1,
      allowH2: false,
      connect: upstreamConnector({ timeout: options.connectMs, allowH2: false }),
      headersTimeout: options.firstByteMs,
      bodyTimeout: options.idleMs,
    });
  }

  get waiting(): number {
    return this.#turns.waiting;
  }

  /**
   * Sends when there is a connection for the account. Returns how to take back what has not been sent; null where too many
   * wait.
   *
   * @param handlerOf makes what is told of the call, and tells itself when the call is over
   */
  send(
    of: AccountId,
    options: Dispatcher.DispatchOptions,
    handlerOf: (onOver: () => void) => Dispatcher.DispatchHandler,
  ): (() => void) | null {
    return this.#turns.take(of, (end) => {
      this.#pool.dispatch(options, handlerOf(end));
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
