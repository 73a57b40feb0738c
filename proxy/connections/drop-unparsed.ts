import type { Socket } from 'node:net';
import { LIMITS } from '../../contracts/limits.ts';

type DataListener = (chunk: Buffer) => void;

/**
 * Drops whatever else a connection brings, unparsed, for nothing behind its last answer is anybody's. It is read all the
 * same, so that its client gets to reading that answer, and tells when it leaves; up to a bound.
 */
export function dropUnparsed(socket: Socket): void {
  lingerBehindLast(socket);
  // Not another piece is parsed; what stands in this one is: a parser cannot be left while it is at work.
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
  });
  for (const listener of parsing) socket.off('data', listener);
}
