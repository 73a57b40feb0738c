import type { Socket } from 'node:net';
import { LIMITS } from '../../contracts/limits.ts';
import { ON_BODY, ON_HEAD, parserOf } from './node-parser.ts';

type DataListener = (chunk: Buffer) => void;

/**
 * Drops whatever else a connection brings, unparsed, for nothing behind its last answer is anybody's. It is read all the
 * same, so that its client gets to reading that answer, and tells when it leaves; up to a bound.
 */
export function dropUnparsed(socket: Socket): void {
  lingerBehindLast(socket);
  ignoreRest(socket);
  // Not another packet is parsed; this one is to its end: a parser cannot be left while it is at work.
  socket.pause();
  setImmediate(() => {
    if (!socket.isPaused()) {
      listenInstead(socket);
      return;
    }
    // By Node's HTTP server, as long as it listens: what it has paused nobody else starts again.
    socket.once('resume', () => listenInstead(socket));
    socket.resume();
  });
}

/**
 * Of the packet that the connection's parser is at nothing is made any more: no request, no piece of a body. Parsers are
 * used again, by when this is undone: a parser is given back no sooner.
 */
function ignoreRest(socket: Socket): void {
  const parser = parserOf(socket);
  // Where it is so already, that is no state to go back to: Node uses a parser again.
  if (parser === null || parser[ON_HEAD] === null) return;
  const { [ON_HEAD]: onHead, [ON_BODY]: onBody } = parser;
  parser[ON_HEAD] = null;
  parser[ON_BODY] = null;
  setImmediate(() => {
    parser[ON_HEAD] = onHead;
    parser[ON_BODY] = onBody;
  });
}

/** What Node does behind the last answer of a connection would reset what the client still sends, and that answer with it. */
function lingerBehindLast(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LIMITS.restOfBodyMs);
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Whoever listens has the bytes in place of Node's parser, which reads them from under the socket otherwise. */
function listenInstead(socket: Socket): void {
  const parsing = socket.listeners('data') as DataListener[];
  let bytes = 0;
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    if (bytes > LIMITS.restOfBodyBytesMax) socket.destroy();
    // What was dropped cannot be collected, and nobody else has a turn, while libuv reads 32 times.
    socket.pause();
    setImmediate(() => socket.resume());
  });
  for (const listener of parsing) socket.off('data', listener);
}
