import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../../contracts/errors.ts';
import { requestId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { refuse } from '../answer.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { bodyOwner } from '../request-body/body-owner.ts';
import { BodyShare } from '../request-body/body-share.ts';
import { IN_CRUMBS, IncomingBody, TOO_LARGE } from '../request-body/incoming-body.ts';
import { TURN_BYTES } from '../request-body/limits.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import { callerOf } from './know-caller.ts';

/** A body that has been read, with its part of the budget. */
interface ReadBody {
  readonly bytes: RequestBytes;
  readonly share: BodyShare;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `readBody`, on the routes that have it. */
    readBody: ReadBody | null;
  }
}

/**
 * Nothing of a body is read but by `readBody`: not on routes that take none, not where nothing is routed, not of a stranger.
 * What a client sends all the same is dropped when its answer is out. Whatever a body's type says, or where it says none,
 * is no matter: bodies are bytes and are forwarded as they are (What holds, 9; interface, 1.4).
 */
export function leaveBodiesUnread(app: FastifyInstance): void {
  app.decorateRequest('readBody', null);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.method !== 'GET') request.headers['content-type'] = BODY_TYPE;
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
  // Whoever asks whether to send a body gets the word when it is read, and else a refusal.
  app.server.on('checkContinue', (request, response) => app.routing(request, response));
  // What else somebody expects is left aside (RFC 9110, 10.1.1), for Node's own answer has no envelope.
  app.server.on('checkExpectation', (request, response) => app.routing(request, response));
}

const BODY_TYPE = 'application/octet-stream';

type BodyParts = Pick<GatewayParts, 'bodies' | 'intake' | 'counts' | 'inFlight' | 'observer'>;

/** Reads the body of a caller who is known, within the budget. */
export function readBody({ bodies, intake, counts, inFlight, observer }: BodyParts) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { raw } = request;
    const announced = announcedBytes(request);
    if (announced !== null && announced > LIMITS.requestBodyBytesMax) {
      refuseBody(reply, TOO_LARGE);
      return;
    }
    const id = requestId(request.id);
    const owner = bodyOwner(callerOf(request));
    const share = new BodyShare(bodies, owner, () => body.free());
    // Also an answer that waits for its turn is closed with its connection.
    reply.raw.once('close', () => {
      share.over();
      inFlight.answered(id);
    });
    const body = new IncomingBody(announced, (bytes) => share.take(bytes));
    let isOver = false;
    inFlight.accept(id, () => (isOver ? null : body.length));
    let bytesOfTurn = 0;
    const end = (refused: Refusal | null): void => {
      isOver = true;
      raw.off('data', add);
      if (refused === null) {
        request.readBody = { bytes: body.end(), share };
        done();
        return;
      }
      share.over();
      if (refused.code === 'rate_limited') counts.refusedByBound('bodyBytes');
      refuseBody(reply, refused);
    };
    const add = (chunk: Buffer): void => {
      // The chunk is the body's from then on, and may be empty.
      bytesOfTurn += chunk.length;
      const refused = body.add(chunk);
      // What still comes is dropped, so that its sender gets to reading the answer.
      if (refused !== null) end(refused);
      else if (body.isLong && bytesOfTurn >= TURN_BYTES) {
        bytesOfTurn = 0;
        raw.pause();
        intake.wait(owner, goOn);
      }
    };
    const goOn = (): void => void raw.resume();
    raw.on('data', add);
    raw.once('end', () => {
      if (!isOver) end(null);
    });
    raw.once('close', () => {
      if (isOver) return;
      // The client has left in the middle of it.
      isOver = true;
      share.over();
      observer.left(request);
      reply.hijack();
    });
    // A client that is cut off comes as an error, too: `close` follows it and tells.
    raw.once('error', () => undefined);
    if (asksToContinue(request)) reply.raw.writeContinue();
  };
}

/** Behind a body that is no body to read on the connection has no next request. */
function refuseBody(reply: FastifyReply, refused: Refusal): void {
  if (refused === TOO_LARGE || refused === IN_CRUMBS) void reply.header('connection', 'close');
  refuse(reply, refused);
}

/** The body that `readBody` has read. */
export function bodyOf(request: FastifyRequest): ReadBody {
  const { readBody: body } = request;
  if (body === null) throw new Error(`${request.url} was routed without a body`);
  return body;
}

/** By itself, or among others: what is said twice, too, stands in one line. Of HTTP/1.0 it is left aside (RFC 9110, 10.1.1). */
const asksToContinue = ({ headers, raw }: FastifyRequest): boolean =>
  raw.httpVersion !== '1.0' && /(?:^|,)[ \t]*100-continue[ \t]*(?:,|$)/i.test(headers.expect ?? '');

function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}
