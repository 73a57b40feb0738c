import type { FastifyInstance } from 'fastify';
import { refusal } from '../contracts/errors.ts';
import { refuse } from './answer.ts';

/** HTTP/1.1 asks for the header `host` (RFC 9112, section 3.2). Node itself would refuse without a word of why. */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') {
      done();
      return;
    }
    void reply.header('connection', 'close');
    refuse(reply, refusal('invalid_request', 'host: the header is missing'));
  });
}
