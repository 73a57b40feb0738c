import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { upstreamConnector } from '../../../proxy/upstream/upstream-connector.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { postMessage, recorded } from '../../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { freePort } from '../../fixtures/processes/processes.ts';
import { startRawUpstream } from '../../fuzz/raw-upstream.ts';
import { type Answer, hangUp, head, json, raw, silence, write } from '../../upstream/answer.ts';
import { message } from '../../upstream/message.ts';
import { streamEvents } from '../../upstream/stream-events.ts';

// One connection, so that each answer comes on that of the last.
const { upstream, gateway } = await startOnUpstream(afterAll, { provider: { connections: 1 } });
// And one with others, where the last one is still waited for.
const beside = await startOnUpstream(afterAll);

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const whole = JSON.stringify(message({ tokens }));
const events = streamEvents({ tokens });
/** What Node reads of a connection at once. */
const READ_BYTES = 64 * 1024;
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n';
const final = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${whole.length}\r\n\r\n${whole}`;

it.each<[string, string, Answer]>([
  ['100 Continue', whole, [raw(goOn), ...json(whole)]],
  ['100 Continue with headers', whole, [raw('HTTP/1.1 100 Continue\r\nx-a: 1\r\ndate: x\r\n\r\n'), ...json(whole)]],
  ['several', whole, [raw(goOn), raw(hints), raw(goOn + goOn), ...json(whole)]],
  ['103 Early Hints', whole, [raw(hints), ...json(whole)]],
  ['100 Continue cut in two', whole, [raw(goOn.slice(0, 9)), raw(goOn.slice(9)), ...json(whole)]],
  ['100 Continue before a stream', Buffer.concat(events).toString(), [raw(goOn), head(), ...events.map(write)]],
  ['100 Continue in one packet with the answer', whole, [raw(goOn + final), silence]],
])('an informational answer that nobody asked for is no error %s', async (_what, body, answer) => {
  upstream.answerWith(answer);
  const got = await postMessage(gateway, { stream: body !== whole });
  expect([got.status, String(await got.rest())]).toEqual([200, body]);
  expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
});

it('a connection that is refused is an error of the call alone', async () => {
  const dispatcher = new Agent({ connect: upstreamConnector({}) });
  onTestFinished(() => dispatcher.destroy());
  const called = request(`http://127.0.0.1:${await freePort()}`, { dispatcher });
  await expect(called).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

describe('what comes beside the body of an answer', () => {
  const MANY = 400_000;
  const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const SIZE = whole.length.toString(16);

  it.each([
    ['line breaks before a head', '\r\n'.repeat(MANY) + final],
    ['announcements with headers', `HTTP/1.1 103 x\r\n${'a:\r\n'.repeat(400)}\r\n`.repeat(100) + final],
    ['an extension of a chunk', `${CHUNKED_HEAD}${SIZE};${'x'.repeat(2 * MANY)}\r\n${whole}\r\n0\r\n\r\n`],
    ['the size of a chunk', `${CHUNKED_HEAD}${'0'.repeat(2 * MANY)}${SIZE}\r\n${whole}\r\n0\r\n\r\n`],
    ['what stands behind a status', final.replace('OK', 'x'.repeat(2 * MANY))],
  ])('is read no further than half a MiB: %s', async (_what, bytes) => {
    // With all of it read the answer is there, and its connection is over: the next one waits for nothing of it.
    beside.upstream.answerWith([raw(bytes), hangUp]);
    const got = await postMessage(beside.gateway);
    expect([got.status, JSON.parse(String(await got.rest()))]).toMatchObject([502, { type: 'error' }]);
  });

  it('may be several times the body, where that comes in chunks of a byte', async () => {
    const body = JSON.stringify({ ...message({ tokens }), padding: 'x'.repeat(MANY) });
    beside.upstream.answerWith([raw(CHUNKED_HEAD + body.replace(/./g, '1\r\n$&\r\n')), raw('0\r\n\r\n'), silence]);
    const got = await postMessage(beside.gateway);
    expect([got.status, String(await got.rest()).length]).toEqual([200, body.length]);
  });

  /** Answers each request with these bytes; behind the last one, with all of it read, it ends the connection by itself. */
  async function served(bytes: string, isLast: boolean) {
    const connections: Socket[] = [];
    const server = createServer((socket) => {
      connections.push(socket.on('error', () => undefined));
      socket.on('data', () => (isLast ? socket.end(bytes) : socket.write(bytes)));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const dispatcher = new Agent({ connect: upstreamConnector({}), keepAliveTimeout: 600_000, connections: 1 });
    onTestFinished(() => dispatcher.destroy());
    const { port } = server.address() as AddressInfo;
    const ask = async () => (await request(`http://127.0.0.1:${port}`, { dispatcher })).body.text();
    return { connections, dispatcher, ask };
  }

  it('closes a connection on which nobody waits for an answer', async () => {
    const { dispatcher, ask } = await served(final + '\r\n'.repeat(MANY), true);
    const closed = once(dispatcher, 'disconnect');
    expect(await ask()).toBe(whole);
    const [, , why] = await closed;
    expect(why).toMatchObject({ message: 'more came beside the body of an answer than is read' });
  });

  it('is counted of each answer by itself', async () => {
    const { connections, ask } = await served('\r\n'.repeat(MANY / 4) + final, false);
    for (let asked = 0; asked < 4; asked++) expect(await ask()).toBe(whole);
    expect(connections.length).toBe(1);
  });
});

describe('headers of an answer', () => {
  const short = (count: number): string => 'a:\r\n'.repeat(count);
  const HEAD = 'HTTP/1.1 200 OK\r\n';
  const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n0\r\n`;

  it.each([
    ['headers', HEAD, 'content-length: 0\r\n\r\n'],
    ['trailers', CHUNKED, '\r\n'],
  ])('are read as long as they are some hundreds: %s', async (_what, before, behind) => {
    upstream.answerWith([raw(before + short(400) + behind), silence]);
    const { answer, counted } = await asked(upstream.url);
    expect([answer, counted]).toEqual(['', expect.any(Number)]);
  });

  it.each([
    ['headers', HEAD],
    ['trailers', CHUNKED],
  ])('and no more of a packet of thousands is counted: %s', async (_what, before) => {
    upstream.answerWith([raw(before + short(10_000)), hangUp]);
    const { answer, counted } = await asked(upstream.url);
    expect(answer).toBe('UND_ERR_HEADERS_OVERFLOW');
    expect(counted).toBeLessThan(1_100);
  });
});

it.each([
  ['of a byte', '1\r\nx\r\n', 200_000, 410],
  ['as long as a decoder gives out at once', `4000\r\n${'x'.repeat(16_384)}\r\n`, 100, 1],
])(
  'an answer that is paused again and again keeps no more of its connection each time: pieces %s',
  async (_what, piece, pieces, piecesOfPause) => {
    const answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${piece.repeat(pieces)}0\r\n\r\n`;
    const { url } = endedLater(await startRawUpstream(() => Buffer.from(answer)));
    const { taken, kept } = await pausedEach(piecesOfPause, url);
    expect(taken).toBe((piece.match(/x/g)?.length ?? 0) * pieces);
    expect(Math.max(...kept)).toBeGreaterThan(0);
    expect(Math.max(...kept)).toBeLessThan(3 * READ_BYTES);
  },
);

/** Takes an answer with a pause behind so many pieces. Returns its bytes, and what its connection kept at each pause. */
async function pausedEach(pieces: number, url: string): Promise<{ taken: number; kept: readonly number[] }> {
  const connect = upstreamConnector({});
  const sockets: Socket[] = [];
  const dispatcher = new Agent({
    connect: (target, callback) =>
      connect(target, (...result) => {
        if (result[1] !== null) sockets.push(result[1]);
        callback(...result);
      }),
  });
  onTestFinished(() => dispatcher.destroy());
  let taken = 0;
  let left = pieces;
  const kept: number[] = [];
  const pauseFor = async (controller: Dispatcher.DispatchController): Promise<void> => {
    controller.pause();
    left = pieces;
    await setImmediate();
    kept.push(...sockets.map(({ readableLength }) => readableLength));
    controller.resume();
  };
  await new Promise<void>((onResponseEnd, fail) => {
    dispatcher.dispatch(
      { origin: url, path: '/', method: 'GET' },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: (controller, { length }) => {
          taken += length;
          left--;
          if (left === 0) void pauseFor(controller);
        },
        onResponseEnd: () => onResponseEnd(),
        onResponseError: (_controller, error) => fail(error),
      },
    );
  });
  return { taken, kept };
}

/** An answer, and how many parts of headers undici's parser has counted of it. */
async function asked(url: string): Promise<{ answer: string; counted: number }> {
  const connect = upstreamConnector({});
  let counted = 0;
  const dispatcher = new Agent({
    connect: (target, callback) =>
      connect(target, (...result) => {
        callback(...result);
        const socket = result[1] ?? {};
        const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
        const parser = Reflect.get(socket, symbol ?? Symbol('none'));
        const { trackHeader } = parser;
        parser.trackHeader = (bytes: number) => {
          counted++;
          trackHeader.call(parser, bytes);
        };
      }),
  });
  onTestFinished(() => dispatcher.destroy());
  try {
    const { body } = await request(url, { dispatcher });
    return { answer: await body.text(), counted };
  } catch (error) {
    return { answer: String((error as { code?: unknown }).code), counted };
  }
}
