import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Where to, and with which key that has no credits. */
interface Target {
  readonly url: string;
  readonly key: string;
}

/** Resolves when all that it has opened is closed, with the statuses that it was answered with. */
interface Attack {
  readonly run: (target: Target) => Promise<string[]>;
  /** What it may be answered; beside that, a connection may be closed under a body that is still being sent. */
  readonly statuses: readonly string[];
  /** More than the gateway may come to hold meanwhile; the bodies of strangers alone are 320, and it makes nothing of them. */
  readonly memoryMib: number;
}

const MIB = 1024 * 1024;
const head = (first: string, ...headers: string[]): string => `${[first, 'host: x', ...headers].join('\r\n')}\r\n\r\n`;
const message = (bytes: number): Buffer => {
  const frame = '{"model":"opal-medium","max_tokens":100,"messages":[{"role":"user","content":""}]}';
  return Buffer.from(frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`));
};

/** Opens so many connections at once, and tells what status each was answered with; '' where it was closed without one. */
async function many(
  count: number,
  { url }: Target,
  use: (socket: Socket, index: number) => unknown,
): Promise<string[]> {
  const { hostname, port } = new URL(url);
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const socket = connect({ host: hostname, port: Number(port) });
      const pieces: Buffer[] = [];
      socket.on('data', (piece) => pieces.push(piece));
      // What is refused is closed under its sender.
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await Promise.race([once(socket, 'connect'), closed]);
      use(socket, index);
      await closed;
      return /(?<=HTTP\/1\.1 )\d{3}(?!.*HTTP\/1\.1 \d{3})/s.exec(Buffer.concat(pieces).toString('latin1'))?.[0] ?? '';
    }),
  );
}

/** Sends all of a body, and leaves some time after its answer: a body is dropped behind it. */
const sending =
  (first: string, body: Buffer, ...headers: string[]) =>
  (socket: Socket): void => {
    socket.write(head(first, `content-length: ${body.length}`, 'connection: close', ...headers));
    socket.write(body);
  };

/** Bodies that nobody asked for: 40 connections with 8 MiB each. */
const FILLER = Buffer.alloc(8 * MIB, 'x');
const key = ({ key: secret }: Target): string => `x-api-key: ${secret}`;

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'bodies to where nothing is routed': {
    run: (target) => many(40, target, sending('POST /nowhere HTTP/1.1', FILLER)),
    statuses: ['404'],
    memoryMib: 100,
  },
  'bodies to a route that takes none': {
    run: (target) => many(40, target, sending('GET /pricing HTTP/1.1', FILLER)),
    statuses: ['200'],
    memoryMib: 100,
  },
  'bodies of strangers': {
    run: (target) => many(40, target, sending('POST /v1/messages HTTP/1.1', FILLER, 'x-api-key: sk-svc-wrong')),
    statuses: ['401'],
    memoryMib: 100,
  },
  'long bodies of a key without credits, more than it may have at once': {
    run: (target) => many(24, target, sending('POST /v1/messages HTTP/1.1', message(8 * MIB), key(target))),
    statuses: ['402', '429'],
    memoryMib: 700,
  },
  'long bodies to be counted': {
    run: (target) => many(6, target, sending('POST /v1/messages/count_tokens HTTP/1.1', message(8 * MIB), key(target))),
    statuses: ['200', '429'],
    memoryMib: 700,
  },
  'more counts than a key without credits may have': {
    run: (target) =>
      many(150, target, sending('POST /v1/messages/count_tokens HTTP/1.1', message(16 * 1024), key(target))),
    statuses: ['200', '429'],
    memoryMib: 160,
  },
  'a million wrong elements': {
    run: (target) => {
      const body = Buffer.from(`{"model":"opal-medium","max_tokens":1,"messages":[${'1,'.repeat(MIB)}1]}`);
      return many(8, target, sending('POST /v1/messages HTTP/1.1', body, key(target)));
    },
    statuses: ['400', '429'],
    memoryMib: 700,
  },
  'as many wrong elements as are looked at': {
    run: (target) => {
      const body = Buffer.from(`{"model":"opal-medium","max_tokens":1,"messages":[${'{},'.repeat(90_000)}1]}`);
      return many(8, target, sending('POST /v1/messages HTTP/1.1', body, key(target)));
    },
    statuses: ['400', '429'],
    memoryMib: 700,
  },
  'brackets without an end': {
    run: (target) => many(4, target, sending('POST /v1/messages HTTP/1.1', Buffer.alloc(16 * MIB, '['), key(target))),
    statuses: ['400', '429'],
    memoryMib: 700,
  },
  'bodies that do not come': {
    run: (target) =>
      many(200, target, (socket) => {
        socket.write(head('POST /v1/messages HTTP/1.1', key(target), `content-length: ${32 * MIB}`));
        socket.write('{');
        void setTimeout(1_000).then(() => socket.destroy());
      }),
    statuses: [],
    memoryMib: 700,
  },
  'connections that say nothing': {
    run: (target) => many(300, target, (socket) => void setTimeout(1_000).then(() => socket.destroy())),
    statuses: [],
    memoryMib: 160,
  },
  'clients that leave in the middle of a body': {
    run: (target) =>
      many(24, target, (socket) => {
        socket.write(head('POST /v1/messages HTTP/1.1', key(target), `content-length: ${8 * MIB}`));
        socket.write(FILLER.subarray(0, 4 * MIB), () => socket.destroy());
      }),
    statuses: [],
    memoryMib: 700,
  },
};
