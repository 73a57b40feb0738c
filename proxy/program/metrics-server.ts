import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { listenWith } from './listening.ts';

interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** What else is answered with, as JSON, by its path. */
  readonly pages?: Readonly<Record<string, () => unknown>>;
}

export interface MetricsServer {
  /** `http://host:port`. */
  readonly url: string;
  close(): Promise<void>;
}

const REQUEST_MS = 10_000;
const CONNECTIONS_MAX = 100;
/** Of these, that have asked for nothing yet. Beyond it the oldest is closed: who opens many keeps no scraper out. */
const UNASKED_MAX = 50;
/** Whoever scrapes asks once a while: more that one connection sends, Node itself refuses with 503. */
const REQUESTS_OF_CONNECTION_MAX = 1;

/** GET /metrics and GET /healthz, on an address that is not for the public. @throws Error with `code`, as `listen` does */
export async function startMetricsServer({
  host,
  port,
  registry,
  pages = {},
}: MetricsServerOptions): Promise<MetricsServer> {
  // Made as they are when asked, once for all that ask meanwhile.
  let making: Promise<string> | null = null;
  const page = (): Promise<string> => {
    making ??= registry.metrics().finally(() => {
      making = null;
    });
    return making;
  };
  const unasked = new Set<Socket>();
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
    unasked.delete(request.socket);
    answer(request, response, { contentType: registry.contentType, page, pages }).catch((error: unknown) =>
      response.destroy(error as Error),
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.maxRequestsPerSocket = REQUESTS_OF_CONNECTION_MAX;
  server.on('connection', (socket) => {
    const [oldest] = unasked;
    if (unasked.size >= UNASKED_MAX && oldest !== undefined) {
      unasked.delete(oldest);
      oldest.destroy();
    }
    unasked.add(socket);
    socket.once('close', () => unasked.delete(socket));
  });
  await listenWith(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () => close(server),
  };
}

interface Metrics {
  readonly contentType: string;
  readonly page: () => Promise<string>;
  readonly pages: Readonly<Record<string, () => unknown>>;
}

async function answer({ method, url }: IncomingMessage, response: ServerResponse, metrics: Metrics): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405, 'text/plain', 'GET only\n');
  const path = url?.split('?', 1)[0] ?? '';
  const made = Object.hasOwn(metrics.pages, path) ? metrics.pages[path]?.() : undefined;
  if (made !== undefined) return send(response, 200, 'application/json', `${JSON.stringify(made)}\n`);
  switch (path) {
    case '/metrics':
      return send(response, 200, metrics.contentType, await metrics.page());
    case '/healthz':
      return send(response, 200, 'application/json', '{"status":"ok"}\n');
    default:
      return send(response, 404, 'text/plain', 'GET /metrics or GET /healthz\n');
  }
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
