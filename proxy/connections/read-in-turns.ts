import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { TURN_BYTES_OF_MANY } from '../request-body/limits.ts';
import { ON_READ, parserOf } from './node-parser.ts';

/**
 * Who sends as fast as it is read has one read, and the next when it is their turn: one of them all in each turn of the event loop.
 * libuv would read 32 times 64 KiB of each of their connections, and nobody else has a turn meanwhile. What is read of a body waits
 * for its own turns (request-body/intake-turns.ts); this is for what nobody ever hears of: line breaks before a head, blanks in it,
 * zeros before the size of a chunk, a body that nobody wants.
 */
export function readInTurns(server: Server): void {
  const waiting = new Set<Socket>();
  const next = (): void => {
    for (const socket of waiting) {
      waiting.delete(socket);
      // Whose connection has gone has no turn.
      if (socket.destroyed) continue;
      socket.resume();
      break;
    }
    if (waiting.size > 0) setImmediate(next);
  };
  const wait = (socket: Socket): void => {
    socket.pause();
    if (waiting.size === 0) setImmediate(next);
    waiting.add(socket);
  };
  server.on('connection', (socket: Socket) => {
    const parser = parserOf(socket);
    const onRead = parser?.[ON_READ] ?? null;
    if (parser === null || onRead === null) return;
    let before = 0;
    parser[ON_READ] = (result) => {
      onRead.call(parser, result);
      const { bytesRead } = socket;
      const isMuch = bytesRead - before >= TURN_BYTES_OF_MANY;
      before = bytesRead;
      // Paused by whoever took what was read, it is theirs to go on.
      if (isMuch && !socket.isPaused() && !socket.destroyed) wait(socket);
    };
  });
}
