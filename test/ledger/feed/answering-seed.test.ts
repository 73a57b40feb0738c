import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { answeringSeed, type OpenSocket } from '../../../ledger/feed/answering-seed.ts';

/** What a broker's answer begins with: its length and the number of the question. */
function answerTo(question: Buffer): Buffer {
  const answer = Buffer.alloc(10);
  answer.writeInt32BE(6);
  question.copy(answer, 4, 8, 12);
  return answer;
}

const TLS_ALERT = Buffer.from('15030300020250', 'hex');

describe('the seed that answers', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  const listen = async (onConnection: (socket: Socket) => void): Promise<string> => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      onConnection(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const good = (): Promise<string> =>
    listen((socket) => socket.on('data', (question) => socket.write(answerTo(question))));
  const silent = (): Promise<string> => listen(() => undefined);
  const dead = async (): Promise<string> => {
    const broker = await silent();
    ends.pop()?.();
    return broker;
  };
  const plain: OpenSocket = (host, port, onConnect) => connect({ host, port }, onConnect);
  const overTls: OpenSocket = (host, port, onConnect) => connectTls({ host, port }, onConnect);
  const find = (...brokers: string[]): Promise<string> => answeringSeed({ brokers, ssl: false, open: plain });

  it('is found behind one that is dead and one that accepts connections and says nothing', async () => {
    const seed = await good();
    expect(await find(await dead(), await silent(), seed)).toBe(seed);
  });

  it('leaves no connection open', async () => {
    const opened: Socket[] = [];
    const open: OpenSocket = (...to) => {
      const socket = plain(...to);
      opened.push(socket);
      return socket;
    };
    await answeringSeed({ brokers: [await silent(), await good()], ssl: false, open });
    expect(opened.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('is none where none answers: each is named with what it does', async () => {
    const [first, second] = [await dead(), await silent()];
    await expect(find(first, second)).rejects.toThrow(
      `${first} connect ECONNREFUSED ${first}; ${second} accepts connections and does not answer within 3000 ms`,
    );
  });

  it.each([
    ['an alert of TLS', (socket: Socket) => void socket.write(TLS_ALERT), 'expects TLS, and kafka.ssl is false'],
    ['the end', (socket: Socket) => void socket.end(), 'it may expect TLS, and kafka.ssl is false'],
    ['something else', (socket: Socket) => void socket.write('HTTP/1.1 400\r\n'), 'none of Kafka’s protocol'],
  ])('is not one that answers with %s', async (_what, answer, reason) => {
    const broker = await listen((socket) => socket.once('data', () => answer(socket)));
    await expect(find(broker)).rejects.toThrow(reason);
  });

  it.each([
    ['closes the connection', (socket: Socket) => void socket.destroy()],
    ['answers in its own protocol', (socket: Socket) => void socket.write('HTTP/1.1 400\r\n')],
  ])('is told not to speak TLS where it %s', async (_what, answer) => {
    const broker = await listen((socket) => socket.once('data', () => answer(socket)));
    await expect(answeringSeed({ brokers: [broker], ssl: true, open: overTls })).rejects.toThrow(
      'it may not speak TLS, and kafka.ssl is true',
    );
  });
});
