import Fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { type Refusal, refusal } from '../contracts/errors.ts';
import { LIMITS } from '../contracts/limits.ts';
import { refuse } from './answer.ts';
import { answerClientError } from './answer-client-error.ts';
import { answerTunnels } from './answer-tunnels.ts';
import { letBrowsersIn } from './browsers.ts';
import { boundConnections } from './connections/bound-connections.ts';
import { boundWaiting } from './connections/bound-waiting.ts';
import { readInTurns } from './connections/read-in-turns.ts';
import { readOnAfterAnswers } from './connections/rest-of-body.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { KnownRoutes } from './known-routes.ts';
import { newRequestId } from './request-id.ts';
import { requireHost } from './require-host.ts';
import { routableUrl } from './routable-url.ts';
import { routeCatalogAndPricing } from './routes/catalog-and-pricing.ts';
import { routeCountTokens } from './routes/count-tokens.ts';
import { routeHealth } from './routes/health.ts';
import { addCallerToRequests } from './routes/know-caller.ts';
import { routeMe } from './routes/me.ts';
import { routeMessages } from './routes/messages.ts';
import { routeModels } from './routes/models.ts';
import { leaveBodiesUnread } from './routes/read-body.ts';
import { addTicketToRequests } from './routes/take-place.ts';
import { cutStalledClients } from './stalled-clients.ts';

/** Longer than the idle time of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 75_000;

/** The HTTP server: routes, raw bodies, and the envelope around everything that goes wrong. */
export function buildServer(parts: GatewayParts): FastifyInstance {
  const app = Fastify({
    genReqId: () => newRequestId(parts.clock()),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // What stands twice is seen as that: of two hosts, or credentials, none is taken for the one.
    http: { maxHeaderSize: LIMITS.requestHeadersBytesMax, requireHostHeader: false, joinDuplicateHeaders: true },
    // A part of a path may be as long as a path: what the router refuses by itself is refused before any hook has run.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.requestHeadersBytesMax },
    rewriteUrl: ({ url }) => routableUrl(url ?? ''),
    requestTimeout: LIMITS.requestReceiveMs,
    exposeHeadRoutes: true,
    frameworkErrors: (error, _request, reply) => refuse(reply, refusalFor(error)),
    trustProxy: (address) => parts.trustedProxies.has(address),
    return503OnClosing: false,
    clientErrorHandler(error, socket) {
      answerClientError(error, socket, (request) => {
        const id = newRequestId(parts.clock());
        parts.observer.unreadable(id, request);
        return id;
      });
    },
  });
  parts.observer.observe(app);
  readInTurns(app.server);
  boundWaiting(app, (request) => parts.observer.left(request));
  requireHost(app);
  boundConnections(app, parts.connections, { proxies: parts.trustedProxies, counts: parts.counts });
  cutStalledClients(app, parts.forwarding.clientStallMs);
  leaveBodiesUnread(app);
  answerTunnels(app);
  readOnAfterAnswers(app);
  addCallerToRequests(app);
  addTicketToRequests(app);
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const refused = refusalFor(error);
    if (refused.code === 'internal') parts.logger.error({ err: error, requestId: request.id }, 'a request failed');
    return refuse(reply, refused);
  });
  const routes = new KnownRoutes(app);
  letBrowsersIn(app, parts.browserOrigins);
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request.url);
    const allowed = routes.methodsOf(path);
    if (allowed.length > 0) void reply.header('allow', allowed.join(', '));
    if (allowed.length > 0 && request.method === 'OPTIONS') return reply.code(204).send();
    return refuse(reply, noRoute(request.method, request.originalUrl));
  });
  for (const route of [routeMessages, routeCountTokens, routeModels, routeCatalogAndPricing, routeMe, routeHealth])
    route(app, parts);
  return app;
}

const PATH_SHOWN_MAX = 200;
const pathOf = (url: string): string => (url.split('?')[0] ?? '').slice(0, PATH_SHOWN_MAX);

/** SDKs add `/v1` to the base URL that they are given. */
const hintFor = (path: string): string =>
  path.startsWith('/v1/v1/') ? '; the base URL of this SDK is to end before /v1' : '';

const noRoute = (method: string, url: string): Refusal =>
  refusal('route_not_found', `there is no ${method} ${pathOf(url)}${hintFor(url)}`);

function refusalFor({ statusCode }: FastifyError): Refusal {
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return refusal('invalid_request', 'the request cannot be read: its length or encoding is not what its headers say');
  return refusal('internal', 'the gateway failed; its log has this under the request id');
}
