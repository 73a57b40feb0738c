import type { FastifyReply } from 'fastify';
import { ERROR_TABLE, errorEnvelope, type Refusal, retryHeaders } from '../contracts/errors.ts';
import { JSON_TYPE } from '../contracts/media-types.ts';

/** Sends one of our own answers. Every answer carries `request-id`. */
export function answer(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.header('request-id', reply.request.id).header('content-type', JSON_TYPE).send(JSON.stringify(body));
}

/** Sends a refusal in the protocol's envelope (interface, 4.2). */
export function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { observed } = reply.request;
  if (observed) observed.code = refusal.code;
  void reply.headers(retryHeaders(refusal));
  if (refusal.deprecation !== undefined) void reply.header('x-svc-deprecation', refusal.deprecation);
  void reply.code(ERROR_TABLE[refusal.code].status);
  return answer(reply, errorEnvelope(refusal.code, refusal.message, reply.request.id));
}
