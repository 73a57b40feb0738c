import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';

const HOST = '127.0.0.1';

/**
 * The TCP side of a server. It owns the sockets, which the gRPC library's own listener does not let one touch: a
 * killed process resets its connections, and so does this one.
 */
export class Listener {
  readonly port: number;
  readonly #server: NetServer;
  readonly #sockets: Map<string, Socket>;

  private constructor(server: NetServer, port: number, sockets: Map<string, Socket>) {
    this.#server = server;
    this.port = port;
    this.#sockets = sockets;
  }

  /** @param port 0 takes any free one. @throws what listening throws (EADDRINUSE). */
  static async open(grpc: GrpcServer, credentials: ServerCredentials, port: number): Promise<Listener> {
    const injector = grpc.createConnectionInjector(credentials);
    const sockets = new Map<string, Socket>();
    const server = createServer({ noDelay: true }, (socket) => {
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      sockets.set(peer, socket);
      socket.once('close', () => sockets.delete(peer));
      // A reset by the client ends the connection, which HTTP/2 sees for itself.
      socket.on('error', () => {});
      injector.injectConnection(socket);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, HOST, resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the listener has no TCP address');
    return new Listener(server, address.port, sockets);
  }

  /** Resets the connection of one peer (`address:port`). */
  cut(peer: string): void {
    this.#sockets.get(peer)?.resetAndDestroy();
  }

  /** Whether the connection of a peer stands in both directions. */
  isConnected(peer: string): boolean {
    const socket = this.#sockets.get(peer);
    return socket !== undefined && !socket.destroyed && !socket.readableEnded;
  }

  /** Resets every connection; new ones are accepted. */
  cutAll(): void {
    for (const socket of this.#sockets.values()) socket.resetAndDestroy();
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Resets every connection and listens no more; resolves when the port is free. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cutAll();
    await closed;
  }
}
