import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../contracts/limits.ts';
import { PIECE_BYTES } from '../../proxy/request-body/limits.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, get, messageOf, post, refusalOf } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { lastBodyOf, openSocket, sendRaw, statusesOf } from '../fixtures/gateway/raw-socket.ts';
import { hangUp, head, wait, write } from '../upstream/answer.ts';
import { type Script, startUpstream } from '../upstream/upstream.ts';
import { startWatchedGateway } from './watched-gateway.ts';

const MIB = 1024 * 1024;
const MAX = LIMITS.requestBodyBytesMax;

/** Bodies of strangers, and what the bodies of those that are known may take. */
const upstream = endedLater(await startUpstream(), afterAll);
const watched = await startWatchedGateway({
  upstreamUrl: upstream.url,
  creditsMicroUsd: 1_000_000_000_000n,
  // Half a piece more than whole pieces fill: what is refused for its length leaves room for a short one at every moment.
  settings: {
    bodies: { maxBytes: 2 * MAX + PIECE_BYTES / 2, maxBytesPerAccount: MAX },
    metrics: { serve: { port: 0 } },
  },
});
const gateway = endedLater(watched, afterAll);

/** Sends a head and the beginning of its body, which does not end, and reads until an answer is there. */
async function answerToBeginning(method: string, path: string, ...headers: string[]): Promise<[string, Socket]> {
  const socket = await openSocket(gateway.url);
  const lines = [`${method} ${path} HTTP/1.1`, 'host: gateway', ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${'x'.repeat(1_000)}`);
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  await once(socket, 'data');
  return [Buffer.concat(pieces).toString(), socket];
}

/** Requests that were refused, or left, by status. */
async function countedRefused(): Promise<Record<string, number>> {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  const counts = text.matchAll(/^gateway_requests_total\{status="(4\d\d)"\} (\d+)$/gm);
  return Object.fromEntries([...counts].map(([, status, count]) => [status, Number(count)]));
}

describe('a body that is not read', () => {
  const long = `content-length: ${20 * MIB}`;
  it.each([
    ['where nothing is routed', 'POST', '/nowhere', 404],
    ['where nothing is routed, with another method', 'PUT', '/v1/messages', 404],
    ['of a method that is none of the path', 'DELETE', '/v1/models', 404],
    ['of a route that takes none', 'GET', '/pricing', 200],
    ['of a route that takes none, by POST', 'POST', '/me', 404],
    ['of a question for the options', 'OPTIONS', '/v1/messages', 204],
    ['of a stranger', 'POST', '/v1/messages', 401],
    ['of a stranger who counts', 'POST', '/v1/messages/count_tokens', 401],
  ])('is answered before it has come: %s', async (_title, method, path, status) => {
    const [answer, socket] = await answerToBeginning(method, path, long);
    expect(statusesOf(answer)).toEqual([String(status)]);
    socket.destroy();
  });

  it('is answered before it has come, of a key that is wrong, whatever its framing', async () => {
    const [answer, socket] = await answerToBeginning(
      'POST',
      '/v1/messages',
      'x-api-key: sk-svc-wrong',
      'transfer-encoding: chunked',
    );
    messageOf(lastBodyOf(answer), 401);
    socket.destroy();
  });

  it('is not asked for, where its sender asks before sending it', async () => {
    const expects = 'expect: 100-continue';
    const ask = async (path: string, key: string, ...others: string[]): Promise<string> => {
      const [answer, socket] = await answerToBeginning('POST', path, `x-api-key: ${key}`, long, expects, ...others);
      socket.destroy();
      return statusesOf(answer)[0] ?? '';
    };
    expect(await ask('/v1/messages', gateway.key)).toBe('100');
    for (const again of [expects, 'expect: 200-ok']) expect(await ask('/v1/messages', gateway.key, again)).toBe('100');
    expect(await ask('/v1/messages', 'sk-svc-wrong')).toBe('401');
    expect(await ask('/nowhere', gateway.key)).toBe('404');
  });

  it('is not asked for in HTTP/1.0, where nobody waits for that', async () => {
    const body = JSON.stringify(asking('svc-mock'));
    const head = `x-api-key: ${gateway.key}\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`;
    expect(statusesOf(await sendRaw(gateway.url, `POST /v1/messages HTTP/1.0\r\n${head}${body}`))).toEqual(['200']);
  });

  it.each([
    ['of whoever is known', () => gateway.key, '400'],
    ['of a stranger', () => 'sk-svc-wrong', '401'],
  ])('and breaks is one request, answered and counted once: %s', async (_who, key, status) => {
    const before = await countedRefused();
    const socket = await openSocket(gateway.url);
    let answer = '';
    socket.on('data', (piece) => {
      answer += String(piece);
    });
    const closed = once(socket, 'close');
    const head = 'POST /v1/messages HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n';
    socket.write(`${head}x-api-key: ${key()}\r\n\r\n1\r\n`);
    // A stranger's answer is out by then.
    if (status === '401') await once(socket, 'data');
    socket.write('{\r\nno chunk\r\n');
    await once(socket, 'end');
    socket.destroy();
    await closed;
    expect(statusesOf(answer)).toEqual([status]);
    await expect.poll(countedRefused).toEqual({ ...before, [status]: (before[status] ?? 0) + 1 });
  });

  it('whose sender expects what nobody knows is taken as any other', async () => {
    const headers = { 'content-type': 'application/json', 'x-api-key': gateway.key, expect: '200-ok' };
    const status = async (path: string, body: string) => {
      const fields = Object.entries({ ...headers, host: 'x', connection: 'close', 'content-length': body.length });
      const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
      return statusesOf(await sendRaw(gateway.url, `POST ${path} HTTP/1.1\r\n${head}\r\n${body}`));
    };
    expect(await status('/v1/messages', JSON.stringify(asking('svc-mock')))).toEqual(['200']);
    expect(await status('/nowhere', '{}')).toEqual(['404']);
  });

  it('that comes in crumbs is not read to its end', async () => {
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const answer = await sendRaw(gateway.url, head + '1\r\nx\r\n'.repeat(20_000));
    expect(messageOf(lastBodyOf(answer), 400)).toMatch(/^the body comes in pieces of less than 64/);
  });

  it('is passed over, and the connection serves on', async () => {
    const passedOver = `POST /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: ${MIB}\r\n\r\n${'x'.repeat(MIB)}`;
    const me = `GET /me HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\nconnection: close\r\n\r\n`;
    expect(statusesOf(await sendRaw(gateway.url, passedOver + me))).toEqual(['404', '200']);
  });
});

describe('bytes of bodies', () => {
  const filled = (bytes: number, options: object = {}): string => {
    const frame = JSON.stringify(asking('opal-medium', { ...options, filler: '' }));
    return frame.replace('"filler":""', `"filler":"${'x'.repeat(bytes - frame.length)}"`);
  };
  /** Sends all but the last byte of a body. */
  async function begin(key: string, body: string): Promise<{ socket: Socket; end: () => Promise<string> }> {
    const socket = await openSocket(gateway.url);
    const pieces: Buffer[] = [];
    // What is refused before its end is closed.
    socket.on('error', () => undefined);
    socket.on('data', (piece) => pieces.push(piece));
    // Where it is refused before its end that is before its last byte is sent.
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    const headers = `host: x\r\nx-api-key: ${key}\r\nconnection: close\r\ncontent-length: ${body.length}`;
    await new Promise((resolve) =>
      socket.write(`POST /v1/messages HTTP/1.1\r\n${headers}\r\n\r\n${body.slice(0, -1)}`, resolve),
    );
    const end = async (): Promise<string> => {
      socket.write(body.slice(-1));
      await closed;
      return Buffer.concat(pieces).toString();
    };
    return { socket, end };
  }
  const held = () => gateway.gateway.process.bodies.bytes;
  const whenHeld = (bytes: number) => expect.poll(held).toBeGreaterThanOrEqual(bytes);
  const whenFree = () => expect.poll(held).toBe(0);

  it('of one account have a bound, told as 429, and others have room beside them', async () => {
    const other = await openAccount(gateway, { credits: 1_000_000_000n });
    const first = await begin(gateway.key, filled(20 * MIB));
    await whenHeld(19 * MIB);
    const second = await begin(gateway.key, filled(20 * MIB));
    const answer = await second.end();
    expect(messageOf(lastBodyOf(answer), 429)).toMatch(
      /^the requests of this account that are under way have more than/,
    );
    expect(answer).toMatch(/\r\nretry-after: 1\r\n/);
    const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
    expect(text).toMatch(/^gateway_rate_limited_total\{whose="account",limit="bodyBytes"\} 1$/m);
    expect((await post(other, '/v1/messages', filled(12 * MIB))).status).toBe(200);
    expect(statusesOf(await first.end())).toEqual(['200']);
    await whenFree();
  });

  it('have a bound in all, told as 529', async () => {
    const accounts = await Promise.all([1, 2, 3].map(() => openAccount(gateway, { credits: 1_000_000_000n })));
    const [one, two, three] = accounts;
    if (one === undefined || two === undefined || three === undefined) throw new Error('there are three');
    const under = [await begin(one.key, filled(31 * MIB)), await begin(two.key, filled(31 * MIB))];
    await whenHeld(61 * MIB);
    expect(refusalOf(await post(three, '/v1/messages', filled(4 * MIB)), 529)).toBe(
      'the requests that are under way have too many bytes together',
    );
    expect((await post(three, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    for (const { socket } of under) socket.destroy();
    await whenFree();
    expect((await post(three, '/v1/messages', filled(4 * MIB))).status).toBe(200);
    await whenFree();
  });

  it('of all that never paid have half of that, and leave the other half', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => openAccount(gateway, { trial: 1_000_000_000n })));
    if (one === undefined || two === undefined) throw new Error('there are two');
    const { socket } = await begin(one.key, filled(31 * MIB));
    await whenHeld(30 * MIB);
    expect((await post(two, '/v1/messages', filled(2 * MIB))).status).toBe(529);
    expect((await post(gateway, '/v1/messages', filled(31 * MIB))).status).toBe(200);
    socket.destroy();
    await whenFree();
  });

  const endings: readonly (readonly [string, Script | null, (body: string) => string])[] = [
    ['an answer', null, (body) => body],
    ['a refusal for what it says', null, (body) => body.replace('"max_tokens":100', '"max_tokens":-10')],
    ['a body that is no JSON', null, (body) => body.replace('{', '[')],
    ['an upstream that breaks off', [head(), write('event: ping\ndata: {"type":"ping"}\n\n'), hangUp], (body) => body],
    ['an upstream that refuses', [head(400), hangUp], (body) => body],
  ];
  it.each(endings)('are given back after %s', async (_title, script, change) => {
    if (script !== null) upstream.answerWith(script);
    for (const bytes of [500, MIB]) await post(gateway, '/v1/messages', change(filled(bytes))).catch(() => null);
    await whenFree();
    expect((await get(gateway, '/me')).status).toBe(200);
  });

  it('are held while what was asked for is read on without its client, and given back after that', async () => {
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([head(), write('event: ping\ndata: {"type":"ping"}\n\n'), wait(gate.promise), hangUp]);
    const sent = upstream.requests.length;
    const { socket } = await begin(gateway.key, filled(MIB, { stream: true }));
    socket.write('}');
    await upstream.seen(sent);
    await once(socket, 'readable').catch(() => null);
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
    await get(gateway, '/me');
    expect(held()).toBeGreaterThanOrEqual(MIB);
    gate.resolve();
    await whenFree();
  });

  it('are given back when a client leaves with requests that wait for their turn', async () => {
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), hangUp]);
    const sent = upstream.requests.length;
    const socket = await openSocket(gateway.url);
    const body = filled(100_000);
    const one = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    socket.write(one.repeat(3));
    await upstream.seen(sent);
    await whenHeld(3 * body.length);
    socket.destroy();
    gate.resolve();
    await whenFree();
  });
});

it('has served whoever paid beside all that, and holds nothing of it', () => gateway.expectServedBeside());
