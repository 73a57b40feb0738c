import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayParts } from '../gateway-parts.ts';

/** Whatever a known caller is answered, it says what is left of its limits. The forwarder's answers do that by themselves. */
export function tellRateLimits({ rateLimits }: GatewayParts) {
  return (request: FastifyRequest, reply: FastifyReply, _payload: unknown, done: () => void): void => {
    const headers = request.caller === null ? [] : rateLimits.headersOf(request.caller);
    for (let at = 0; at < headers.length; at += 2) void reply.header(headers[at] ?? '', headers[at + 1]);
    done();
  };
}
