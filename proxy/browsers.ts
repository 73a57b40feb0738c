import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { headerOf } from './header.ts';
import { RATE_LIMIT_HEADERS } from './rate-limits/rate-limit-headers.ts';

/** What a page may read of an answer's headers. */
const EXPOSED = [
  'request-id',
  'retry-after',
  'x-should-retry',
  'x-svc-deprecation',
  'x-svc-token-count',
  ...RATE_LIMIT_HEADERS,
];
const PREFLIGHT_LASTS_S = 600;
/** Anybody may read them anywhere: they need no key. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/pricing', '/catalog', '/status']);
/** Whoever puts a key into a page says with it that they know what they do; the SDKs ask for it and send it. */
const DIRECT_ACCESS = 'anthropic-dangerous-direct-browser-access';

const METHODS = ['GET', 'HEAD', 'POST'];
const PUBLIC: FastifyCorsOptions = { origin: '*', methods: ['GET', 'HEAD'], strictPreflight: false };
const NOBODY: FastifyCorsOptions = { origin: false };

/**
 * What browsers let pages of other origins do (Fetch, CORS protocol): read what is public; call everything else where the
 * configuration names their origin and the caller says that it is a browser's call on purpose (interface, 6.3).
 *
 * @param origins `*` among them is every origin
 */
export function letBrowsersIn(app: FastifyInstance, origins: readonly string[]): void {
  const named = {
    origin: [...origins],
    methods: METHODS,
    exposedHeaders: EXPOSED,
    maxAge: PREFLIGHT_LASTS_S,
    strictPreflight: false,
  };
  // Their answers are none of `answer`: the plugin sends them, or the server for a path without them.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS') void reply.header('request-id', request.id);
    done();
  });
  void app.register(cors, {
    delegator: (request, done) => {
      if (headerOf(request.headers, 'origin') === null) done(null, NOBODY);
      else if (PUBLIC_PATHS.has(pathOf(request))) done(null, PUBLIC);
      else done(null, isOnPurpose(request) ? named : NOBODY);
    },
  });
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0] ?? '';

/** Before the call itself a browser only asks whether the header may be sent. */
function isOnPurpose({ method, headers }: FastifyRequest): boolean {
  if (method !== 'OPTIONS') return headerOf(headers, DIRECT_ACCESS) === 'true';
  const asked = headerOf(headers, 'access-control-request-headers') ?? '';
  return asked.split(',').some((name) => name.trim().toLowerCase() === DIRECT_ACCESS);
}

/** An answer that the forwarder writes has the headers that a browser needs, too. */
export function keepHeadersForBrowser({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (headers.origin === undefined) return;
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value);
}
