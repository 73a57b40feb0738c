import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

const CONTINUE = 100;
/** Another informational status, of which undici goes on to the answer that it announces. */
const PROCESSING = 102;

/**
 * Connects as undici does by itself, but a `100 Continue` that nobody asked for is an informational answer like any other
 * (RFC 9110, section 15.2: a client reads past it). undici takes it for a broken connection, and has no option for that, so
 * its parser is told of another status. Where that parser is not found under this name any more, undici's way stands.
 */
export function connectHearingContinue(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...result) => {
      callback(...result);
      const [failed, socket] = result;
      // By now the connection has its parser, and has read nothing. Of one that failed there is no socket at all.
      if (failed === null) renameContinue(socket);
    });
}

interface HeadParser {
  onHeadersComplete(status: number, ...rest: unknown[]): unknown;
}

function renameContinue(socket: Socket): void {
  const parser = parserOf(socket);
  if (parser === null) return;
  const { onHeadersComplete } = parser;
  parser.onHeadersComplete = (status, ...rest) =>
    onHeadersComplete.call(parser, status === CONTINUE ? PROCESSING : status, ...rest);
}

function parserOf(socket: Socket): HeadParser | null {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser: unknown = symbol === undefined ? null : Reflect.get(socket, symbol);
  return isHeadParser(parser) ? parser : null;
}

const isHeadParser = (value: unknown): value is HeadParser =>
  typeof value === 'object' &&
  value !== null &&
  'onHeadersComplete' in value &&
  typeof value.onHeadersComplete === 'function';
