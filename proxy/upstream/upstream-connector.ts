import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { isTooMuchFor } from './limits.ts';

const CONTINUE = 100;
/** Another informational status, of which undici goes on to the answer that it announces. */
const PROCESSING = 102;
/** What a header's name, and its value, count beside their own bytes: 32 for both, as in HTTP/2 (RFC 9113, section 6.5.2). */
const HEADER_PART_BYTES = 16;
/** And a head by itself: announcements are heads without a header. */
const HEAD_BYTES = 256;

/**
 * Connects as undici does by itself, but for four things of which it has no option. Where its parser is not found under these
 * names any more, undici's way stands for all but the last.
 *
 * - A `100 Continue` that nobody asked for is an informational answer like any other (RFC 9110, section 15.2: a client reads
 *   past it); undici takes it for a broken connection, so its parser is told of another status.
 * - Headers are bounded by their bytes, of which an empty one has none, and each that comes behind the bound is an error of its
 *   own: a packet of them keeps everybody waiting. Each counts some bytes more, and none counts when the connection is gone.
 * - What comes beside the body of an answer is bounded: announcements, whatever stands around chunks, line breaks before a head, also
 *   behind an answer, on a connection that nobody waits for. As fast as it is read it kept everybody waiting.
 * - Of an answer that is paused undici puts back what it has read of the connection and not passed on, and goes on by reading all
 *   that is there, upon which Node reads as much again: with each pause 64 KiB more were kept, and copied.
 */
export function upstreamConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...result) => {
      const [failed, socket] = result;
      // There is no socket at all then, whatever undici's types say.
      if (failed !== null) return callback(...result);
      boundReads(socket);
      callback(...result);
      // By now the connection has its parser, and has read nothing.
      const parser = parserOf(socket);
      if (parser === null) return;
      renameContinue(parser);
      const beside = new BytesBeside();
      boundHeaders(parser, socket, beside);
      boundBeside(parser, socket, beside);
    });
}

interface AnswerParser {
  onHeadersComplete(status: number, ...rest: unknown[]): unknown;
  trackHeader(bytes: number): void;
  execute(chunk: Buffer): unknown;
  onBody(bytes: Buffer): unknown;
  onMessageComplete(): unknown;
}

/** What is no body takes no turns. A chunk of one byte has five around it. Of the answer under way, or of what comes behind the last one. */
class BytesBeside {
  #all = 0;
  #body = 0;

  get isTooMuch(): boolean {
    return isTooMuchFor(this.#body, this.#all - this.#body);
  }

  add(bytes: number): void {
    this.#all += bytes;
  }

  addBody(bytes: number): void {
    this.#body += bytes;
  }

  beginAnew(): void {
    this.#all = 0;
    this.#body = 0;
  }
}

function renameContinue(parser: AnswerParser): void {
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, ...rest) =>
    onHeadersComplete.call(parser, status === CONTINUE ? PROCESSING : status, ...rest);
}

function boundHeaders(parser: AnswerParser, socket: Socket, beside: BytesBeside): void {
  const { trackHeader } = parser;
  parser.trackHeader = (bytes) => {
    beside.add(HEADER_PART_BYTES);
    if (!socket.destroyed) trackHeader.call(parser, bytes + HEADER_PART_BYTES);
  };
}

function boundBeside(parser: AnswerParser, socket: Socket, beside: BytesBeside): void {
  const { execute, onHeadersComplete, onBody, onMessageComplete } = parser;
  const { unshift } = socket;
  let isFinal = false;
  parser.execute = (chunk) => {
    beside.add(chunk.length);
    const result = execute.call(parser, chunk);
    if (beside.isTooMuch) socket.destroy(new Error('more came beside the body of an answer than is read'));
    return result;
  };
  parser.onHeadersComplete = (status, ...rest) => {
    beside.add(HEAD_BYTES);
    isFinal = status >= 200;
    return onHeadersComplete.call(parser, status, ...rest);
  };
  parser.onBody = (bytes) => {
    beside.addBody(bytes.length);
    return onBody.call(parser, bytes);
  };
  parser.onMessageComplete = () => {
    if (isFinal) beside.beginAnew();
    return onMessageComplete.call(parser);
  };
  // Of an answer that is paused: it is read again.
  socket.unshift = (bytes: Buffer) => {
    beside.add(-bytes.length);
    unshift.call(socket, bytes);
  };
}

/** No more at once than what a connection keeps before Node reads no further of it. */
function boundReads(socket: Socket): void {
  const { read } = socket;
  socket.read = (bytes?: number) => {
    const { readableLength, readableHighWaterMark } = socket;
    return read.call(socket, bytes ?? (readableLength > readableHighWaterMark ? readableHighWaterMark : undefined));
  };
}

function parserOf(socket: Socket): AnswerParser | null {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser: unknown = symbol === undefined ? null : Reflect.get(socket, symbol);
  return isAnswerParser(parser) ? parser : null;
}

const isAnswerParser = (value: unknown): value is AnswerParser =>
  typeof value === 'object' &&
  value !== null &&
  'onHeadersComplete' in value &&
  typeof value.onHeadersComplete === 'function' &&
  ['trackHeader', 'execute', 'onBody', 'onMessageComplete'].every(
    (name) => typeof Reflect.get(value, name) === 'function',
  );
