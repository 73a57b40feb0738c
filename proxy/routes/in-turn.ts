import type { FastifyReply, FastifyRequest } from 'fastify';
import { whenInTurn } from '../connections/when-in-turn.ts';
import type { RequestObserver } from '../observation/request-observer.ts';

/**
 * Lets a request go upstream when its answer has its turn on the connection. HTTP lets a client send the next before it has
 * the answer to the last (RFC 9112, section 9.3.2), whatever that asks for. Were it under way meanwhile, its answer would
 * wait behind others, Node would stop reading the connection, and nobody would see that the client has left, or that it
 * takes nothing. A body that waits has been read. It waits for as long as what stands before it may take, all of which has
 * its bounds; what has no client any more is told of, and left lying.
 */
export function inTurn({ observer }: { readonly observer: Pick<RequestObserver, 'left'> }) {
  return (request: FastifyRequest, { raw }: FastifyReply, done: () => void): void => {
    if (raw.socket !== null) done();
    else whenInTurn(raw, { inTurn: done, left: () => observer.left(request) });
  };
}
