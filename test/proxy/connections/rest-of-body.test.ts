import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readInTurns } from '../../../proxy/connections/read-in-turns.ts';
import { type RestBounds, readOnAfterAnswers } from '../../../proxy/connections/rest-of-body.ts';
import { TURN_BYTES } from '../../../proxy/request-body/limits.ts';
import { leaveBodiesUnread } from '../../../proxy/routes/read-body.ts';
import { openSocket, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { startTestGateway, type TestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { mostOfTurn } from '../../fixtures/turns-of-bytes.ts';

const MIB = 1024 * 1024;
/** Longer than a test may take. */
const NEVER_MS = 600_000;

/** Sends everything before it reads a byte, then reads until the connection ends. A reset is told as its code. */
async function sendThenRead(socket: Socket, head: string, body: Buffer): Promise<string> {
  let error = '';
  socket.on('error', ({ code }: NodeJS.ErrnoException) => {
    error = code ?? 'error';
  });
  socket.pause();
  socket.write(head);
  const closed = once(socket, 'close');
  const written = new Promise<void>((resolve) => socket.write(body, () => resolve()));
  await Promise.race([written, closed]);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  socket.end();
  socket.resume();
  await closed;
  return `${statusesOf(Buffer.concat(pieces).toString()).join()}${error}`;
}

describe('a client that reads only when it has sent everything', () => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await startTestGateway();
  });
  afterEach(async () => {
    await gateway.stop();
  });

  it.each([
    ['with a length', ''],
    ['with a length, and that closes', 'connection: close\r\n'],
  ])('gets the refusal of a body that is too long: %s', async (_how, more) => {
    const body = Buffer.alloc(40 * MIB, 'x');
    const headers = `host: x\r\nx-api-key: ${gateway.key}\r\ncontent-length: ${body.length}\r\n${more}`;
    const socket = await openSocket(gateway.url);
    expect(await sendThenRead(socket, `POST /v1/messages HTTP/1.1\r\n${headers}\r\n`, body)).toBe('400');
  });

  it('gets that of one in chunks, and of a stranger', async () => {
    const chunk = `${(40 * MIB).toString(16)}\r\n${'x'.repeat(40 * MIB)}\r\n0\r\n\r\n`;
    for (const [key, status] of [
      [gateway.key, '400'],
      ['sk-svc-wrong', '401'],
    ]) {
      const headers = `host: x\r\nx-api-key: ${key}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n`;
      const socket = await openSocket(gateway.url);
      expect(await sendThenRead(socket, `POST /v1/messages HTTP/1.1\r\n${headers}\r\n`, Buffer.from(chunk))).toBe(
        status,
      );
    }
  });
});

describe('a client that goes on sending when it has its answer', () => {
  let app: FastifyInstance;
  let client: Socket;
  let connection: Socket;
  let received: string;
  let heads: number;
  let late: PromiseWithResolvers<void>;
  afterEach(async () => {
    vi.useRealTimers();
    client.destroy();
    await app.close();
  });

  async function ask(bounds: RestBounds, more: string): Promise<void> {
    late = Promise.withResolvers();
    app = Fastify();
    leaveBodiesUnread(app);
    heads = 0;
    app.addHook('onRequest', (_request, _reply, done) => {
      heads++;
      done();
    });
    readInTurns(app.server);
    readOnAfterAnswers(app, bounds);
    app.post('/stranger', { onRequest: (_request, reply) => void reply.code(401).send('who?') }, () => 'nobody');
    app.post('/length', (request, reply) => {
      let length = 0;
      request.raw.on('data', (piece: Buffer) => {
        length += piece.length;
      });
      request.raw.once('end', () => void reply.send({ length }));
    });
    app.post('/refused', (_request, reply) => reply.code(400).send('no'));
    app.post('/late', (_request, reply) => late.promise.then(() => reply.send('yes')));
    // As a long body is taken in, and refused when enough of it has come.
    app.post('/midway', ({ raw }, reply) => {
      let chunks = 0;
      raw.on('data', () => {
        if (++chunks === 1) {
          raw.pause();
          setImmediate(() => raw.resume());
        }
        if (chunks === 2_000) reply.code(400).header('connection', 'close').send('no');
      });
      app.server.emit('midway');
      return reply;
    });
    app.server.once('connection', (socket) => {
      connection = socket;
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    // It goes on though the gateway has said that it sends no more.
    client = connect({ port: (app.server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined);
    received = '';
    client.on('data', (piece) => {
      received += String(piece);
    });
    client.write(`POST /refused HTTP/1.1\r\nhost: x\r\n${more}\r\n`);
    await once(client, 'data');
  }

  it('behind another request cuts no answer that is before its own', async () => {
    await ask({ bytesMax: MIB, ms: 100 }, 'content-length: 0\r\n');
    client.write('POST /late HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    client.write(`POST /refused HTTP/1.1\r\nhost: x\r\n${endless}\r\n10000\r\n${'x'.repeat(65_536)}\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 400));
    late.resolve();
    await closed();
    expect(statusesOf(received)).toEqual(['400', '200', '400']);
  });

  it.each([
    ['in crumbs', () => '1\r\nx\r\n'.repeat(5_000)],
    ['past the bound', () => `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(17)],
  ])('behind another request is parsed no more %s, and has the last answer', async (_how, rest) => {
    await ask({ bytesMax: MIB, ms: NEVER_MS }, 'content-length: 0\r\n');
    client.write('POST /late HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    client.write(`POST /refused HTTP/1.1\r\nhost: x\r\n${endless}\r\n`);
    const before = client.bytesWritten;
    client.write(rest());
    await expect.poll(() => connection.bytesRead).toBe(client.bytesWritten);
    expect(client.bytesWritten).toBeGreaterThan(before);
    // It would be its end, and a request behind it.
    client.write('0\r\n\r\nPOST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
    await expect.poll(() => connection.bytesRead).toBe(client.bytesWritten);
    late.resolve();
    await once(client, 'end');
    client.end();
    expect(statusesOf(received)).toEqual(['400', '200', '400']);
  });

  /** The gateway's side of the connection, which ends whatever the client does. */
  const closed = () => once(connection, 'close');

  const endless = 'transfer-encoding: chunked\r\n';
  it.each([endless, `${endless}connection: close\r\n`])('is cut past a bound of bytes (%#)', async (more) => {
    await ask({ bytesMax: 4 * MIB, ms: NEVER_MS }, more);
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const send = (): void => {
      while (!client.destroyed && client.write(chunk));
    };
    client.on('drain', send);
    const over = closed();
    send();
    await over;
    expect(statusesOf(received)).toEqual(['400']);
  });

  it.each([endless, `${endless}connection: close\r\n`])(
    'or sends nothing more, is cut after a time (%#)',
    async (more) => {
      await ask({ bytesMax: 64 * MIB, ms: 200 }, more);
      await closed();
      expect(statusesOf(received)).toEqual(['400']);
    },
  );

  it.each(['', 'connection: close\r\n'])('and leaves holds nothing up any more (%#)', async (more) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await ask({ bytesMax: 4 * MIB, ms: NEVER_MS }, `content-length: 100000\r\n${more}`);
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    const over = new Promise((resolve) => connection.once('close', resolve));
    client.destroy();
    await over;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('in crumbs is parsed no more from where they are too many, also of what has come with the head', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, 'content-length: 0\r\n');
    const failures: Error[] = [];
    client.on('error', (error) => failures.push(error));
    const over = once(client, 'end');
    const next = 'POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';
    const crumbs = (bytes: number) => '1\r\nx\r\n'.repeat(bytes);
    client.write(`POST /stranger HTTP/1.1\r\nhost: x\r\n${endless}\r\n${crumbs(1_000)}0\r\n\r\n${next}`);
    await over;
    expect(statusesOf(received)).toEqual(['400', '401']);
    expect(heads).toBe(2);
    // It has not seen the end yet, and is not reset for what it sends meanwhile.
    for (let round = 0; round < 3; round++) {
      client.write(next.repeat(1_000));
      await expect.poll(() => connection.bytesRead).toBe(client.bytesWritten);
    }
    client.end();
    await closed();
    expect(failures).toEqual([]);
    // The parser of that connection is used again, and parses what others send.
    for (let length = 1; length <= 3; length++) {
      const next = await openSocket(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
      const answer = once(next, 'end');
      next.write(`POST /length HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${endless}\r\n${crumbs(length)}0\r\n\r\n`);
      let text = '';
      next.on('data', (piece) => {
        text += String(piece);
      });
      await answer;
      expect(text).toContain(`{"length":${length}}`);
      next.destroy();
    }
  });

  it('that is whole soon leaves the connection to the next request, whose body is read', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, 'content-length: 0\r\n');
    const refused = `POST /stranger HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody`;
    client.write(`${refused}POST /length HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello`);
    await once(client, 'end');
    expect(statusesOf(received)).toEqual(['400', '401', '200']);
    expect(received).toContain('{"length":5}');
  });

  it('in crumbs is parsed no more, and has no next request', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, endless);
    const over = once(client, 'end');
    client.write('1\r\nx\r\n'.repeat(5_000));
    await over;
    client.end();
    await new Promise((resolve) => connection.once('close', resolve));
    expect(statusesOf(received)).toEqual(['400']);
  });

  it('in crumbs tells when it leaves also where it was answered in the middle of them, after a turn of waiting', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, 'content-length: 0\r\n');
    client.write(`POST /midway HTTP/1.1\r\nhost: x\r\n${endless}\r\n`);
    await once(app.server, 'midway');
    const over = new Promise((resolve) => connection.once('close', resolve));
    const ended = once(client, 'end');
    client.write('1\r\nx\r\n'.repeat(100_000));
    await ended;
    client.end();
    await over;
    expect(statusesOf(received)).toEqual(['400', '400']);
  });

  it('is read once a turn of the event loop, however much of it is there', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, `content-length: ${8 * MIB}\r\n`);
    client.write(Buffer.alloc(8 * MIB));
    client.write('POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n');
    expect(await mostOfTurn([connection], once(client, 'end'))).toBeLessThanOrEqual(2 * TURN_BYTES);
    expect(statusesOf(received)).toEqual(['400', '400']);
  });

  it('in crumbs is read so, too, where it is parsed no more', async () => {
    await ask({ bytesMax: 64 * MIB, ms: NEVER_MS }, endless);
    client.end('1\r\nx\r\n'.repeat(MIB));
    const over = new Promise((resolve) => connection.once('close', resolve));
    expect(await mostOfTurn([connection], over)).toBeLessThanOrEqual(3 * TURN_BYTES);
    expect(connection.bytesRead).toBe(client.bytesWritten);
  });

  it('to its end within the bounds is served on, also after their time', async () => {
    await ask({ bytesMax: 4 * MIB, ms: 300 }, 'content-length: 100000\r\n');
    client.write('x'.repeat(100_000));
    await new Promise((resolve) => setTimeout(resolve, 600));
    client.write('POST /refused HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\nconnection: close\r\n\r\n1');
    await once(client, 'end');
    expect(statusesOf(received)).toEqual(['400', '400']);
  });
});
