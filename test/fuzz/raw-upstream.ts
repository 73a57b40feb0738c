import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface RawUpstream {
  readonly url: string;
  /** The answer to the next request whose body holds this word. */
  answerTo(word: string, bytes: Buffer): void;
  close(): Promise<void>;
}

const GOOD_COUNT = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n{"input_tokens":12}';

/**
 * Answers with bytes as they are, whatever they say, and closes the connection behind them.
 *
 * @param otherwise what is answered to a request that no other answer is for
 */
export async function startRawUpstream(otherwise: (request: string) => Buffer): Promise<RawUpstream> {
  const answers = new Map<string, Buffer>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // The gateway closes what it does not understand.
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (piece) => {
      received = Buffer.concat([received, piece]);
      if (!isWhole(received)) return;
      const text = received.toString('latin1');
      received = Buffer.alloc(0);
      if (text.includes('count_tokens HTTP')) {
        socket.end(GOOD_COUNT);
        return;
      }
      const word = [...answers.keys()].find((one) => text.includes(one));
      socket.end((word === undefined ? null : answers.get(word)) ?? otherwise(text));
      if (word !== undefined) answers.delete(word);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerTo: (word, bytes) => void answers.set(word, bytes),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What the gateway sends says how long it is, or comes in chunks that end. */
function isWhole(received: Buffer): boolean {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const head = received.toString('latin1', 0, headEnd).toLowerCase();
  const length = /content-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) return received.length >= headEnd + 4 + Number(length);
  return !head.includes('chunked') || received.subarray(-5).equals(Buffer.from('0\r\n\r\n'));
}
