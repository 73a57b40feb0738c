import { NetworkPath } from './network-path.ts';

/** One host, without TLS, whose certificate would have to name this machine. */
const ONE_HOST = /^esdb:\/\/(?<user>[^@/,]*@)?(?<host>[^@:/,?]+)(?::(?<port>\d+))?\/?(?<rest>\?.*)$/;
const PORT = 2113;

/**
 * The way to a server that nobody may kill: what a run would do to the server is done to its connections.
 *
 *     gateways ──▶ this path ──▶ the server of EVENTSTOREDB_URL
 */
export class PathToServer {
  readonly name = 'way to the event store';
  /** Never: it is in this process. */
  readonly hasEnded = false;
  /** Leads through the path, on whatever port that is. */
  readonly connectionString: string;
  readonly #host: string;
  readonly #serverPort: number;
  readonly #port: number;
  #path: NetworkPath | null;
  #opening: Promise<void> = Promise.resolve();

  private constructor(parts: { user: string; host: string; serverPort: number; rest: string; path: NetworkPath }) {
    const { user, host, serverPort, rest, path } = parts;
    this.#host = host;
    this.#serverPort = serverPort;
    this.#path = path;
    this.#port = path.port;
    this.connectionString = `esdb://${user}127.0.0.1:${path.port}${rest}`;
  }

  /** Null where connections cannot be led through it: several hosts, which tell clients their addresses, or TLS. */
  static async open(connectionString: string): Promise<PathToServer | null> {
    const { user = '', host, port = PORT, rest } = ONE_HOST.exec(connectionString)?.groups ?? {};
    if (host === undefined || rest === undefined || !/[?&]tls=false\b/i.test(rest)) return null;
    const serverPort = Number(port);
    return new PathToServer({ user, host, serverPort, rest, path: await NetworkPath.open(serverPort, { host }) });
  }

  /** Every connection breaks, and a new one is refused until `start`. */
  async kill(): Promise<number> {
    const path = this.#path;
    this.#path = null;
    const atMs = Date.now();
    await path?.close();
    return atMs;
  }

  start(): void {
    this.#opening = NetworkPath.open(this.#serverPort, { host: this.#host, port: this.#port }).then((path) => {
      this.#path = path;
    });
    // Told by `whenReady`.
    this.#opening.catch(() => undefined);
  }

  async whenReady(): Promise<void> {
    await this.#opening;
  }

  /** Connections stay, and nothing passes until `resume`. */
  pause(): void {
    this.#path?.freeze();
  }

  resume(): void {
    this.#path?.thaw();
  }

  async stop(): Promise<void> {
    await this.kill();
  }
}
