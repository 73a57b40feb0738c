import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refusal } from '../contracts/errors.ts';
import { refuse } from './answer.ts';

/** HTTP/1.1 asks for the header `host`, once (RFC 9112, section 3.2). Node itself would refuse without a word of why. */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const isMissing = raw.headers.host === undefined && raw.httpVersion === '1.1';
    if (!isMissing && !namesSeveralHosts(raw.headers)) {
      done();
      return;
    }
    void reply.header('connection', 'close');
    const fault = isMissing ? 'the header is missing' : 'the header stands more than once';
    refuse(reply, refusal('invalid_request', `host: ${fault}`));
  });
}

/** Of a server that joins what is sent twice (`joinDuplicateHeaders`): Node takes the first otherwise, and others on the way another. */
export const namesSeveralHosts = ({ host }: Pick<IncomingHttpHeaders, 'host'>): boolean =>
  host?.includes(', ') === true;
