import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { refusal } from '../../contracts/errors.ts';
import { counted } from '../../contracts/money.ts';
import { refuse } from '../answer.ts';
import type { RequestCounts } from '../request-counts.ts';
import { SourceBound } from './source-bound.ts';
import { sourceOf } from './source-of.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface ConnectionBounds {
  readonly max: number;
  readonly perAddress: number;
}

/**
 * Bounds connections in all, and what one source may have at once: connections where it connects itself, requests where
 * it comes through a trusted proxy. There its address is the last that such a proxy has not, by `x-forwarded-for`; from
 * anyone else that header is not believed. A proxy's own connections are not counted by its address.
 *
 * A connection too many is closed without a word: nothing has been read of it that could be answered.
 */
export function boundConnections(
  app: FastifyInstance,
  { max, perAddress }: ConnectionBounds,
  { proxies, counts }: { readonly proxies: TrustedProxies; readonly counts: RequestCounts },
): void {
  const connections = new SourceBound(perAddress);
  const requests = new SourceBound(perAddress);
  app.server.maxConnections = max;
  app.server.on('drop', () => counts.connectionsRefused++);
  app.server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    // One that is gone already has none.
    if (remoteAddress === undefined || proxies.has(remoteAddress)) return;
    const source = sourceOf(remoteAddress);
    if (connections.take(source)) socket.once('close', () => connections.give(source));
    else {
      counts.connectionsRefused++;
      socket.destroy();
    }
  });
  app.addHook('onRequest', (request, reply, done) => {
    const client = request.headers['x-forwarded-for'] === undefined ? null : clientBehind(request, proxies);
    if (client !== null && !requests.take(client)) {
      counts.refusedByBound('requestsOfAddress');
      refuse(
        reply,
        refusal('rate_limited', `more than ${counted(perAddress, 'request')} from this address are under way`),
      );
      return;
    }
    if (client !== null) reply.raw.once('close', () => requests.give(client));
    done();
  });
}

/** Null where nobody but the proxies themselves is known. */
function clientBehind(
  { ip, socket }: { readonly ip: string; readonly socket: Socket },
  proxies: TrustedProxies,
): string | null {
  const isBehind = socket.remoteAddress !== undefined && proxies.has(socket.remoteAddress);
  return isBehind && !proxies.has(ip) ? sourceOf(ip) : null;
}
