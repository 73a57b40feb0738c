import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { readInTurns } from '../../../proxy/connections/read-in-turns.ts';
import { TURN_BYTES, TURN_BYTES_OF_MANY } from '../../../proxy/request-body/limits.ts';
import { statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { bytesOf, mostOfTurn } from '../../fixtures/turns-of-bytes.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 8;
const HEAD = 'GET / HTTP/1.1\r\nhost: x\r\n';
const IN_CHUNKS = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';

let server: Server;
let served: Socket[];
beforeEach(async () => {
  served = [];
  server = createServer((request, response) => {
    request.resume().once('end', () => response.end());
  });
  server.on('connection', (socket) => served.push(socket));
  readInTurns(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
});

async function client() {
  const isServed = once(server, 'connection');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
  });
  socket.on('error', () => undefined);
  await isServed;
  return { socket, received: () => received };
}

async function severalClients() {
  const clients: Awaited<ReturnType<typeof client>>[] = [];
  while (clients.length < CONNECTIONS) clients.push(await client());
  return clients;
}

it.each([
  ['line breaks before a head', '', '\r\n', HEAD],
  ['bare ones', '', '\n', HEAD],
  ['blanks behind a path', 'GET / ', ' ', 'HTTP/1.1\r\nhost: x\r\n'],
  ['blanks before the value of a header', `${HEAD}a:`, ' ', 'b\r\n'],
  ['zeros before the size of a chunk', IN_CHUNKS, '0', '1\r\nx\r\n0\r\n'],
  ['blanks before the value of a trailer', `${IN_CHUNKS}0\r\na:`, ' ', 'b\r\n'],
])(
  'of several that send as fast as they are read one has a read in a turn, and nothing is lost: %s',
  async (_, ...of) => {
    const [begin, again, end] = of;
    const bytes = Buffer.from(begin + again.repeat(MIB / again.length) + end);
    const clients = await severalClients();
    const answered = clients.map(({ socket }) => once(socket, 'data'));
    for (const { socket } of clients) socket.write(Buffer.concat([bytes, Buffer.from('\r\n')]));
    while (served.some(({ bytesRead }) => bytesRead === 0)) await nextTurn();
    // Short ones may come beside it.
    const mostBytes = TURN_BYTES + CONNECTIONS * TURN_BYTES_OF_MANY;
    expect(await mostOfTurn(served, Promise.all(answered))).toBeLessThan(mostBytes);
    for (const { received } of clients) expect(statusesOf(received())).toEqual(['200']);
    for (const { bytesRead } of served) expect(bytesRead).toBe(bytes.length + 2);
  },
);

it('also where none of their reads is a full one', async () => {
  const piece = Buffer.from('\r\n'.repeat((3 * TURN_BYTES_OF_MANY) / 2));
  const clients = await severalClients();
  const sendOn = (): void => {
    for (const [index, { socket }] of clients.entries())
      if (served[index]?.bytesRead === socket.bytesWritten) socket.write(piece);
  };
  const send = async (rounds: number): Promise<void> => {
    for (const end = rounds * CONNECTIONS * piece.length; bytesOf(served) < end; await nextTurn()) sendOn();
  };
  await send(1);
  expect(await mostOfTurn(served, send(20))).toBeLessThan(3 * piece.length);
});

it('what somebody has paused is theirs to read on', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<IncomingMessage>();
  server.removeAllListeners('request').once('request', begin);
  const { socket } = await client();
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000000\r\n\r\n');
  const request = await begun;
  const { readableHighWaterMark } = request;
  socket.write(Buffer.alloc(MIB));
  for (let turns = 0; turns < 1_000; turns++) await nextTurn();
  expect(request.readableLength).toBeLessThan(readableHighWaterMark + TURN_BYTES);
});

it('whoever has left keeps nobody from their turn', async () => {
  const clients = await severalClients();
  for (const { socket } of clients) socket.write('\r\n'.repeat(MIB));
  await expect.poll(() => served.every(({ bytesRead }) => bytesRead > 0)).toBe(true);
  for (const socket of served.slice(0, -1)) socket.destroy();
  const { socket, received } = clients.at(-1) ?? (await client());
  socket.write(`${HEAD}\r\n`);
  await once(socket, 'data');
  expect(statusesOf(received())).toEqual(['200']);
});
