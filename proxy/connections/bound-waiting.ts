import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LIMITS } from '../../contracts/limits.ts';
import { dropUnparsed } from './drop-unparsed.ts';
import { makeLast } from './last-answer.ts';
import { dropInTurn, mayHaveMore } from './rest-of-body.ts';
import { whenInTurn } from './when-in-turn.ts';

/**
 * Bounds how many requests one connection may send before it has the answers to those before (pipelining). What waits costs
 * some kilobytes however short it is, and Node keeps no bound: it stops reading for answers that wait, of which there are
 * none yet. The last that is let in has the connection's last answer; what its client sends behind it is dropped unparsed,
 * and is to be sent again, as HTTP has it for whatever a closed connection leaves unanswered (RFC 9112, section 9.3.2).
 *
 * The same bound is that of the requests of one turn of the event loop, though each had its answer before the next was
 * parsed, as Node does it where they have bodies: one connection brings thousands in a turn, and nobody else has one meanwhile.
 *
 * The connection is read on all the same, and what asks for no body waits for its turn before it is answered: one that is
 * not read, as Node leaves one for which many answers wait, does not tell that its client has left.
 * @param left a client has, before one that asks for no body had its turn
 */
export function boundWaiting(app: FastifyInstance, left: (request: FastifyRequest) => void): void {
  const lines = new WeakMap<Socket, Line>();
  const turns = new Turns();
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    const { socket } = request.raw;
    const line = lines.get(socket) ?? new Line(socket);
    lines.set(socket, line);
    if (!line.join(raw, turns.now())) {
      reply.hijack();
      return;
    }
    if (raw.socket !== null) {
      done();
      return;
    }
    line.wait(raw);
    const isBodiless = request.method === 'GET' || request.method === 'HEAD';
    // Some come with a body all the same, and nobody reads that before their turn.
    if (isBodiless && mayHaveMore(request)) dropInTurn(request.raw, raw);
    if (isBodiless) whenInTurn(raw, { inTurn: done, left: () => left(request) });
    else done();
  });
}

/** The turns of the event loop in which anybody asks. */
class Turns {
  #turn = 0;
  #isCounted = false;

  now(): number {
    if (!this.#isCounted) {
      this.#isCounted = true;
      setImmediate(() => {
        this.#turn++;
        this.#isCounted = false;
      });
    }
    return this.#turn;
  }
}

/** The requests of one connection. */
class Line {
  readonly #socket: Socket;
  /** For the answers before them. */
  readonly #waiting = new Set<ServerResponse>();
  #turn = 0;
  #ofTurn = 0;
  /** Null where all are answered: a connection that stands idle keeps nothing of its requests, whose objects are to die young. */
  #last: ServerResponse | null = null;
  #isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => {
      this.#last = null;
      this.#end();
    });
  }

  /** False where it is not let in, and has no answer. */
  join(response: ServerResponse, turn: number): boolean {
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#ofTurn = 0;
    }
    const { requestsInTurnMax } = LIMITS;
    const mayWait = response.socket !== null || this.#waiting.size < requestsInTurnMax;
    if (!mayWait || this.#ofTurn > requestsInTurnMax) this.#close();
    if (this.#isClosed) return false;
    this.#ofTurn++;
    this.#last = response;
    response.once('close', () => {
      if (this.#last === response) this.#last = null;
    });
    return true;
  }

  wait(response: ServerResponse): void {
    this.#waiting.add(response);
    for (const over of ['socket', 'close']) response.once(over, () => this.#waiting.delete(response));
  }

  /** Node closes what waits with its connection, but not where that has asked for a tunnel behind it (CONNECT): what was taken for it would never be given back. */
  #end(): void {
    for (const response of this.#waiting) {
      response.destroy();
      response.emit('close');
    }
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const last = this.#last;
    if (last !== null) makeLast(last);
    dropUnparsed(this.#socket);
    if (last === null || last.writableFinished) this.#socket.destroySoon();
  }
}
