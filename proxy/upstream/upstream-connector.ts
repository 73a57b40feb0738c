import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

const CONTINUE = 100;
/** Another informational status, of which undici goes on to the answer that it announces. */
const PROCESSING = 102;
/** What a header's name, and its value, count beside their own bytes: 32 for both, as in HTTP/2 (RFC 9113, section 6.5.2). */
const HEADER_PART_BYTES = 16;

/**
 * Connects as undici does by itself, but for three things of which it has no option. Where its parser is not found under these
 * names any more, undici's way stands for the first two.
 *
 * - A `100 Continue` that nobody asked for is an informational answer like any other (RFC 9110, section 15.2: a client reads
 *   past it); undici takes it for a broken connection, so its parser is told of another status.
 * - Headers are bounded by their bytes, of which an empty one has none, and each that comes behind the bound is an error of its
 *   own: a packet of them keeps everybody waiting. Each counts some bytes more, and none counts when the connection is gone.
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
      boundHeaders(parser, socket);
    });
}

interface AnswerParser {
  onHeadersComplete(status: number, ...rest: unknown[]): unknown;
  trackHeader(bytes: number): void;
}

function renameContinue(parser: AnswerParser): void {
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, ...rest) =>
    onHeadersComplete.call(parser, status === CONTINUE ? PROCESSING : status, ...rest);
}

function boundHeaders(parser: AnswerParser, socket: Socket): void {
  const { trackHeader } = parser;
  parser.trackHeader = (bytes) => {
    if (!socket.destroyed) trackHeader.call(parser, bytes + HEADER_PART_BYTES);
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
  'trackHeader' in value &&
  typeof value.trackHeader === 'function';
