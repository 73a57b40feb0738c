import { connect, createServer, type Server, type Socket } from 'node:net';

const HOST = '127.0.0.1';

/**
 * A way over TCP to a server, which a test can freeze: nothing passes and nothing is reset, as when a network is
 * partitioned or a machine stands still. What is under way is kept and passes after the thaw.
 *
 *     client ──▶ network path ──▶ server
 */
export class NetworkPath {
  readonly port: number;
  readonly #server: Server;
  readonly #pairs: Set<Pair>;
  #isFrozen = false;

  private constructor(server: Server, port: number, pairs: Set<Pair>) {
    this.#server = server;
    this.port = port;
    this.#pairs = pairs;
  }

  /** To a server on this machine, or on another; it listens on a free port, or on one that it had before. */
  static async open(serverPort: number, { host = HOST, port = 0 } = {}): Promise<NetworkPath> {
    const pairs = new Set<Pair>();
    let path: NetworkPath | null = null;
    const server = createServer({ noDelay: true }, (client) => {
      const pair = new Pair(client, connect({ host, port: serverPort, noDelay: true }), () => pairs.delete(pair));
      pairs.add(pair);
      if (path?.isFrozen) pair.freeze();
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, HOST, resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the path has no TCP address');
    path = new NetworkPath(server, address.port, pairs);
    return path;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** Connections made while it is frozen are accepted and hear nothing, as by a full queue of a host that is stuck. */
  freeze(): void {
    this.#isFrozen = true;
    for (const pair of this.#pairs) pair.freeze();
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const pair of this.#pairs) pair.thaw();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const pair of this.#pairs) pair.end();
    await closed;
  }
}

/** The two sockets of one connection. */
class Pair {
  readonly #sockets: readonly [Socket, Socket];
  readonly #onEnd: () => void;
  #isFrozen = false;

  constructor(client: Socket, server: Socket, onEnd: () => void) {
    this.#sockets = [client, server];
    this.#onEnd = onEnd;
    this.#forward(client, server);
    this.#forward(server, client);
  }

  freeze(): void {
    this.#isFrozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#onEnd();
  }

  #forward(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (!to.write(bytes)) from.pause();
    });
    to.on('drain', () => {
      if (!this.#isFrozen) from.resume();
    });
    // A reset of one side is one of the other; what it was is of no use to either.
    from.on('error', () => this.end());
    from.on('close', () => this.end());
  }
}
