import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { refusal } from '../contracts/errors.ts';
import { refuse } from './answer.ts';

/** HTTP/1.1 asks for the header `host`, once (RFC 9112, section 3.2). Node itself would refuse without a word of why. */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const isMissing = raw.headers.host === undefined && raw.httpVersion === '1.1';
    const fault = isMissing ? 'the header is missing' : hostFault(raw.headers);
    if (fault === null) {
      done();
      return;
    }
    void reply.header('connection', 'close');
    refuse(reply, refusal('invalid_request', `host: ${fault}`));
  });
}

/** `host`, `host:port` or `[address]:port`, or empty (RFC 9110, section 7.2, and RFC 3986, section 3.2). */
const ONE_HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * Why a request goes to no host that others on the way would take, too; null where it does, or names none. Of a server that joins
 * what is sent twice (`joinDuplicateHeaders`): Node takes the first otherwise, and others another.
 */
export function hostFault({ host }: Pick<IncomingHttpHeaders, 'host'>): string | null {
  if (host === undefined || ONE_HOST.test(host)) return null;
  return host.includes(', ') ? 'it is more than one' : 'it is no host, or host and port';
}
