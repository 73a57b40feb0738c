import type { FastifyInstance } from 'fastify';
import type { StatusAnswer } from '../../contracts/answers.ts';
import { callableModels } from '../admission/model-lifecycle.ts';
import { answer } from '../answer.ts';
import type { GatewayParts } from '../gateway-parts.ts';

const SERVICE_NAME = 'model-gateway';
/** The version of the interface (interface, 6.2). */
const INTERFACE_VERSION = '1.0.0';

/**
 * GET /status (public), /healthz (the process is alive, and can take down usage or soon may; 503 where it cannot) and /readyz (it can take requests; with what is amiss where it
 * takes them all the same).
 */
export function routeHealth(app: FastifyInstance, { projections, clock, availability }: GatewayParts): void {
  app.get('/status', (_request, reply) => {
    const status: StatusAnswer = {
      name: SERVICE_NAME,
      version: INTERFACE_VERSION,
      ok: availability.refuse() === null,
      models: callableModels(projections.catalog.state, clock()).length,
      ...whatIsAmiss(),
    };
    return answer(reply, status);
  });

  app.get('/healthz', (_request, reply) => {
    const reason = availability.unhealthy();
    if (reason !== null) {
      void reply.code(503);
      return answer(reply, { ok: false, reason });
    }
    const degraded = availability.shortage();
    return answer(reply, { ok: true, ...(degraded === null ? {} : { degraded }) });
  });

  app.get('/readyz', (_request, reply) => {
    const refused = availability.refuse();
    if (refused !== null) void reply.code(503);
    return answer(reply, refused === null ? { ok: true, ...whatIsAmiss() } : { ok: false, reason: refused.message });
  });

  const whatIsAmiss = (): { degraded?: string } => {
    const degraded = availability.degraded();
    return degraded === null ? {} : { degraded };
  };
}
