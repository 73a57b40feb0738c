import { createServer, type Socket } from 'node:net';
import { machineUs } from '../stamps.ts';
import {
  answerKindOf,
  BURST_ANSWER,
  JSON_ANSWER,
  PACE_MS,
  PACED_EVENTS,
  PACED_WRITES,
  SLOW_EVENTS,
  SLOW_PACE_MS,
  STREAM_HEAD,
  slowWrite,
} from './answers.ts';
import { PacedStreams } from './paced-streams.ts';
import { RequestReader } from './request-reader.ts';

/**
 * The upstream of the benchmark, a process of its own: whole answers from buffers made once, one write each. It tells
 * its parent `{port}` and ends when its parent does.
 */
const paced = new PacedStreams({ everyMs: PACE_MS, events: PACED_EVENTS, writeOf: (index) => PACED_WRITES[index] });
const slow = new PacedStreams({
  everyMs: SLOW_PACE_MS,
  events: SLOW_EVENTS,
  writeOf: (index) => slowWrite(index, machineUs()),
});
const server = createServer({ noDelay: true }, serve);
server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({ port: address.port });
});
process.once('disconnect', () => process.exit(0));

function serve(socket: Socket): void {
  const reader = new RequestReader();
  socket.on('data', (bytes: Buffer) => {
    const request = reader.push(bytes);
    if (request !== null) answer(socket, request);
  });
  // A contender that closes its connections when the load ends may reset them: that is its end, not a fault.
  socket.on('error', () => socket.destroy());
}

function answer(socket: Socket, request: Buffer): void {
  switch (answerKindOf(request)) {
    case 'json':
      socket.write(JSON_ANSWER);
      return;
    case 'burst':
      socket.write(BURST_ANSWER);
      return;
    case 'paced':
      socket.write(STREAM_HEAD);
      paced.add(socket);
      return;
    case 'slow':
      socket.write(STREAM_HEAD);
      slow.add(socket);
      return;
  }
}
