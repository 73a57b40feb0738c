import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { dropUnparsed } from '../connections/drop-unparsed.ts';
import { Crumbs } from '../request-body/crumbs.ts';
import { CHUNK_BYTES_MIN, UNWANTED_SHORT_CHUNKS_MAX } from '../request-body/limits.ts';
import { hostFault } from '../require-host.ts';
import { listenWith } from './listening.ts';

interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** What else is answered with, as JSON, by its path. */
  readonly pages?: Readonly<Record<string, () => unknown>>;
  /** What is told here by POST, by its path. */
  readonly posts?: Readonly<Record<string, Post>>;
}

/** @param body its bytes as they came @param headers each as often as it came */
export type Post = (
  body: Buffer,
  headers: IncomingMessage['headersDistinct'],
) => Promise<{ readonly status: number; readonly says: string }>;

export interface MetricsServer {
  /** `http://host:port`. */
  readonly url: string;
  close(): Promise<void>;
}

const REQUEST_MS = 10_000;
/** Beyond it the oldest ends whose answer is made and only has to be fetched, or else the oldest whose request is not there. */
const CONNECTIONS_MAX = 100;
/** From there on Node itself takes none, which closes them a moment later than they are ended here. */
const CONNECTIONS_TAKEN_MAX = 2 * CONNECTIONS_MAX;
/** An answer that is not fetched is fetched no more. */
const FETCH_MS = 10_000;
/** Of what is told by POST; messages of payment providers are a few KiB. */
const BODY_BYTES_MAX = 256 * 1_024;
/** Of these, whose request has not come whole yet. Beyond it, a moment later, the oldest are closed: who opens many keeps no scraper out. */
const UNREAD_MAX = 50;
const UNREAD_MS = 1_000;
/** Whoever scrapes asks once a while: what one connection sends behind that is dropped unparsed. */
const REQUESTS_OF_CONNECTION_MAX = 1;

/** GET /metrics and GET /healthz, and what else is given, on an address that is not for the public. @throws Error with `code`, as `listen` does */
export async function startMetricsServer({
  host,
  port,
  registry,
  pages = {},
  posts = {},
}: MetricsServerOptions): Promise<MetricsServer> {
  // Made as they are when asked, once for all that ask meanwhile.
  let making: Promise<string> | null = null;
  const page = (): Promise<string> => {
    making ??= registry.metrics().finally(() => {
      making = null;
    });
    return making;
  };
  const connections = new Connections();
  const times = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS };
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (takesBody(request, posts)) request.once('end', () => connections.isRead(socket));
    else {
      connections.isRead(socket);
      // A body that nobody reads, and further requests.
      dropUnparsed(socket);
    }
    answer(request, response, { contentType: registry.contentType, page, pages, posts }).then(
      () => connections.isAnswered(socket),
      (error: unknown) => response.destroy(error as Error),
    );
  };
  const server = createServer({ ...times, joinDuplicateHeaders: true }, take);
  // What else somebody expects is left aside, as by the gateway itself: Node's own answer leaves the connection open for seconds.
  server.on('checkExpectation', take);
  server.maxConnections = CONNECTIONS_TAKEN_MAX;
  server.maxRequestsPerSocket = REQUESTS_OF_CONNECTION_MAX;
  server.on('connection', (socket) => connections.add(socket));
  // Behind a body that was wanted.
  server.on('dropRequest', (_request, socket: Socket) => dropUnparsed(socket));
  await listenWith(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () => close(server),
  };
}

/** Who opens many, asks for nothing or fetches nothing keeps no scraper out. */
class Connections {
  readonly #open = new Set<Socket>();
  /** Oldest first, as the others. */
  readonly #unread = new Set<Socket>();
  readonly #answered = new Set<Socket>();
  #trimming: NodeJS.Timeout | null = null;

  add(socket: Socket): void {
    if (this.#unread.size >= UNREAD_MAX) this.#trimLater();
    const isFull = this.#open.size >= CONNECTIONS_MAX;
    if (isFull && !this.#endOldest(this.#answered) && !this.#endOldest(this.#unread)) return void socket.destroy();
    this.#open.add(socket);
    this.#unread.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /** Many who come at one moment have asked for something a moment later. */
  #trimLater(): void {
    this.#trimming ??= setTimeout(() => {
      this.#trimming = null;
      while (this.#unread.size > UNREAD_MAX) this.#endOldest(this.#unread);
    }, UNREAD_MS).unref();
  }

  isRead(socket: Socket): void {
    this.#unread.delete(socket);
  }

  isAnswered(socket: Socket): void {
    if (socket.destroyed) return;
    this.#unread.delete(socket);
    this.#answered.add(socket);
    const timer = setTimeout(() => socket.destroy(), FETCH_MS);
    socket.once('close', () => clearTimeout(timer));
  }

  #endOldest(of: ReadonlySet<Socket>): boolean {
    const [oldest] = of;
    if (oldest === undefined) return false;
    this.#forget(oldest);
    oldest.destroy();
    return true;
  }

  #forget(socket: Socket): void {
    for (const set of [this.#open, this.#unread, this.#answered]) set.delete(socket);
  }
}

interface Metrics {
  readonly contentType: string;
  readonly page: () => Promise<string>;
  readonly pages: Readonly<Record<string, () => unknown>>;
  readonly posts: Readonly<Record<string, Post>>;
}

const pathOf = ({ url }: IncomingMessage): string => url?.split('?', 1)[0] ?? '';

const takesBody = (request: IncomingMessage, posts: Metrics['posts']): boolean =>
  request.method === 'POST' && Object.hasOwn(posts, pathOf(request)) && hostFault(request.headers) === null;

async function answer(request: IncomingMessage, response: ServerResponse, metrics: Metrics): Promise<void> {
  const { method } = request;
  const path = pathOf(request);
  const fault = hostFault(request.headers);
  if (fault !== null) return send(response, 400, 'text/plain', `host: ${fault}\n`);
  const post = Object.hasOwn(metrics.posts, path) ? metrics.posts[path] : undefined;
  if (post !== undefined) return answerPost(request, response, post);
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405, 'text/plain', 'GET only\n');
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

async function answerPost(request: IncomingMessage, response: ServerResponse, post: Post): Promise<void> {
  if (request.method !== 'POST') return send(response, 405, 'text/plain', 'POST only\n');
  const body = await bodyOf(request);
  if (typeof body === 'string') return send(response, 413, 'text/plain', `${body}\n`);
  const { status, says } = await post(body, request.headersDistinct);
  send(response, status, 'text/plain', `${says}\n`);
}

const TOO_LONG = `at most ${BODY_BYTES_MAX} bytes`;

/** In its place, where it is not read to its end, why. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | string> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) {
    dropUnparsed(request.socket);
    return TOO_LONG;
  }
  const pieces: Buffer[] = [];
  const crumbs = new Crumbs(UNWANTED_SHORT_CHUNKS_MAX);
  let bytes = 0;
  // Not by its iterator, which would destroy the connection that is to have the answer.
  return new Promise((resolve, reject) => {
    const leave = (why: string): void => {
      // At once: a packet has thousands of pieces of a byte.
      request.off('data', take);
      dropUnparsed(request.socket);
      resolve(why);
    };
    const take = (piece: Buffer): void => {
      bytes += piece.length;
      if (bytes > BODY_BYTES_MAX) leave(TOO_LONG);
      else if (crumbs.add(piece.length)) leave(`not in pieces of less than ${CHUNK_BYTES_MIN} bytes on the average`);
      else pieces.push(piece);
    };
    request.on('data', take);
    request.once('end', () => resolve(Buffer.concat(pieces)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the connection was closed before the end of its body')));
  });
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  // Said by us: what Node says of a connection's last request leaves it open, until nothing has come for seconds.
  const headers = { 'content-type': contentType, 'content-length': Buffer.byteLength(body), connection: 'close' };
  response.writeHead(status, headers).end(body);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
