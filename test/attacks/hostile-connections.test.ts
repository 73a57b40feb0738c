import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { asking, get, messageOf, post } from '../fixtures/gateway/call.ts';
import { lastBodyOf, openSocket, requestText, sendRaw, statusesOf } from '../fixtures/gateway/raw-socket.ts';
import { countTokens, hangUp, stream, wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { hostileScene } from './hostile-scene.ts';

/** Connections that no client would make on purpose. After each: nothing is held or recorded, and the gateway serves on. */
const { upstream, gateway, usages, test } = await hostileScene();

const GOOD = JSON.stringify(asking('opal-medium'));
const MIB = 1024 * 1024;
const good = (...headers: string[]) => requestText(gateway.key, GOOD, headers);

describe('what is not HTTP', () => {
  it.each([
    ['garbage', 'hello gateway\r\n\r\n'],
    ['a TLS handshake', Buffer.from('16030100c8010000c403', 'hex')],
    ['another protocol', 'SSH-2.0-OpenSSH_9.0\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method that is none', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a version that is none', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
    ['a header with a line end in its name', 'GET / HTTP/1.1\r\nhost: x\r\nx y\nz: 1\r\n\r\n'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n'],
    ['a negative length', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n'],
    ['two lengths that differ', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'],
    [
      'a length beside chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a chunk without a size',
      'POST /v1/messages HTTP/1.1\r\nx-api-key: KEY\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    ],
    ['two lengths that are the same', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\nx'],
    ['no host', 'GET /me HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET /me HTTP/1.1\r\nhost: x\r\nx-api-key: KEY\r\nHost: y\r\n\r\n'],
    ['two hosts that are the same', 'GET /me HTTP/1.1\r\nhost: x\r\nx-api-key: KEY\r\nhost: x\r\n\r\n'],
    ['two hosts of an older version', 'GET /status HTTP/1.0\r\nhost: x\r\nhost: y\r\n\r\n'],
    ['two hosts in one line', 'GET /me HTTP/1.1\r\nx-api-key: KEY\r\nhost: x, y\r\n\r\n'],
    ['a host of two words', 'GET /me HTTP/1.1\r\nx-api-key: KEY\r\nhost: a b\r\n\r\n'],
    ['a host with a path', 'GET /me HTTP/1.1\r\nx-api-key: KEY\r\nhost: a/b\r\n\r\n'],
    ['a host with a user', 'GET /me HTTP/1.1\r\nx-api-key: KEY\r\nhost: u@h\r\n\r\n'],
    ['a host with two ports', 'GET /me HTTP/1.1\r\nx-api-key: KEY\r\nhost: a:1:2\r\n\r\n'],
    ['no host, where nothing is routed', 'POST /nowhere HTTP/1.1\r\ncontent-length: 0\r\n\r\n'],
  ])('is answered with a 400 and closed: %s', async (_title, bytes) => {
    const withKey = typeof bytes === 'string' ? bytes.replace('KEY', gateway.key) : bytes;
    const answer = await sendRaw(gateway.url, withKey);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    messageOf(lastBodyOf(answer), 400);
  });

  it('is refused as headers that are too long', async () => {
    const answer = await sendRaw(
      gateway.url,
      `GET /me HTTP/1.1\r\nhost: x\r\nx-filler: ${'x'.repeat(64 * 1024)}\r\n\r\n`,
    );
    expect(messageOf(lastBodyOf(answer), 400)).toBe('the headers are too long or too many');
  });

  it('is refused as more headers than the runtime takes', async () => {
    const fillers = Array.from({ length: 2_500 }, (_, index) => `x-${index}: 1`);
    messageOf(lastBodyOf(await sendRaw(gateway.url, good(...fillers, 'connection: close'))), 400);
  });
});

describe('a credential that stands twice', () => {
  const asked = async (...headers: string[]) => {
    const head = ['GET /me HTTP/1.1', 'host: x', 'connection: close', ...headers];
    return statusesOf(await sendRaw(gateway.url, `${head.join('\r\n')}\r\n\r\n`.replaceAll('KEY', gateway.key)));
  };

  it.each([
    [['x-api-key: KEY', 'x-api-key: KEY']],
    [['x-api-key: KEY', 'X-Api-Key: sk-svc-other']],
    [['x-api-key: sk-svc-other', 'x-api-key: KEY']],
    [['authorization: Bearer KEY', 'authorization: Bearer KEY']],
    [['authorization: Bearer KEY', 'Authorization: Bearer sk-svc-other']],
    [['authorization: Bearer sk-svc-other', 'authorization: Bearer KEY']],
    [['authorization: Bearer KEY, Bearer KEY']],
    [['authorization: Bearer KEY', 'authorization: Basic a2V5']],
  ])('is none: %s', async (headers) => {
    expect(await asked(...headers)).toEqual(['401']);
  });

  it('is one in each of its headers, and x-api-key is taken', async () => {
    expect(await asked('x-api-key: KEY', 'authorization: Bearer sk-svc-other')).toEqual(['200']);
    expect(await asked('authorization: Bearer KEY', 'x-api-key: sk-svc-other')).toEqual(['401']);
  });
});

describe('a request that breaks off', () => {
  it.each([
    ['in its first line', 20],
    ['in its headers', 60],
    ['before its body', -GOOD.length],
    ['one byte before its end', -1],
  ])('is forgotten when its client leaves: %s', async (_title, end) => {
    const socket = await openSocket(gateway.url);
    socket.on('error', () => undefined);
    socket.end(good().slice(0, end));
    socket.resume();
    await once(socket, 'close');
  });

  it('is forgotten when its connection is reset', async () => {
    const socket = await openSocket(gateway.url);
    const cut = requestText(gateway.key, `{"model":"${'x'.repeat(4 * MIB)}"`, []).slice(0, -9);
    await new Promise((resolve) => socket.write(cut, resolve));
    socket.resetAndDestroy();
  });
});

describe('one connection', () => {
  it('serves pipelined requests in their order', async () => {
    const bad = requestText(gateway.key, '{}', []);
    const answers = await sendRaw(gateway.url, good() + bad + good() + bad + good('connection: close'));
    expect(statusesOf(answers)).toEqual(['200', '400', '200', '400', '200']);
    test.served += 3;
  });

  it('sends what is pipelined upstream in its turn, and nothing of it once its client has left', async () => {
    const sent = upstream.requests.length;
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), hangUp]);
    const stream = requestText(gateway.key, JSON.stringify(asking('opal-medium', { stream: true })), []);
    const socket = await openSocket(gateway.url);
    socket.on('error', () => undefined);
    socket.write(stream.repeat(3));
    await upstream.seen(sent);
    expect((await post(gateway, '/v1/messages/count_tokens', asking('svc-mock'))).status).toBe(200);
    expect(upstream.requests.length).toBe(sent + 1);
    socket.destroy();
    await once(socket, 'close');
    gate.resolve();
    test.served++;
    await expect.poll(usages).toBe(test.before.usages + test.served);
    upstream.answerWith(defaultAnswer);
    expect((await get(gateway, '/me')).body).toMatchObject({ held_credits: 0 });
    expect(upstream.requests.length).toBe(sent + 1);
  });

  it('has a count asked in its turn, too', async () => {
    const sent = upstream.requests.length;
    const gate = Promise.withResolvers<void>();
    upstream.answerWith(({ path }) =>
      path.includes('count_tokens') ? countTokens(7) : [wait(gate.promise), ...stream(streamEvents())],
    );
    const count = good('connection: close').replace('/v1/messages', '/v1/messages/count_tokens');
    const answers = sendRaw(gateway.url, good() + count);
    await upstream.seen(sent);
    for (let round = 0; round < 5; round++) await get(gateway, '/me');
    const sentMeanwhile = upstream.requests.length;
    gate.resolve();
    expect(lastBodyOf(await answers)).toBe('{"input_tokens":7}');
    expect(sentMeanwhile).toBe(sent + 1);
    upstream.answerWith(defaultAnswer);
    test.served++;
    test.before.sent++;
  });

  it('serves a request after one that was refused for its body', async () => {
    const answers = await sendRaw(gateway.url, requestText(gateway.key, '{', []) + good('connection: close'));
    expect(statusesOf(answers)).toEqual(['400', '200']);
    test.served++;
  });

  const GARBAGE = 'garbage\r\n\r\n';
  const BROKEN = 'POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: none\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n';
  it.each([
    ['garbage', [], GARBAGE],
    ['garbage, again and again', [], GARBAGE.repeat(100)],
    ['a line end behind its last request', ['connection: close'], '\r\n'],
    ['a request whose own body is none', [], BROKEN],
    ['a whole request, and garbage', [], `${requestText('none', GOOD, [])}${GARBAGE}`],
  ])(
    'gives the answer under way whole, and is closed behind it, when %s follows its request',
    async (_what, headers, bytes) => {
      for (const hasBegun of [true, false]) {
        const sent = upstream.requests.length;
        const gate = Promise.withResolvers<void>();
        const [first, ...more] = stream(streamEvents());
        if (first === undefined) throw new Error('a stream has a head');
        upstream.answerWith(hasBegun ? [first, wait(gate.promise), ...more] : [wait(gate.promise), first, ...more]);
        const socket = await openSocket(gateway.url);
        const pieces: Buffer[] = [];
        socket.on('data', (piece) => pieces.push(piece));
        socket.write(requestText(gateway.key, JSON.stringify(asking('opal-medium', { stream: true })), headers));
        await (hasBegun ? once(socket, 'data') : upstream.seen(sent));
        const closed = once(socket, 'close');
        socket.write(bytes);
        // The gateway has read it before it has answered these.
        for (let round = 0; round < 5; round++) await get(gateway, '/me');
        gate.resolve();
        await closed;
        test.served++;
        const answers = Buffer.concat(pieces).toString();
        expect(statusesOf(answers)).toEqual(['200']);
        expect(answers).toContain('event: message_stop');
        expect(answers.endsWith('\r\n0\r\n\r\n')).toBe(true);
      }
      upstream.answerWith(defaultAnswer);
      const events = await gateway.events();
      const outcomes = events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.outcome] : []));
      expect(outcomes.slice(-2)).toEqual(['completed', 'completed']);
    },
  );

  it('serves a body that comes byte by byte', async () => {
    const socket = await openSocket(gateway.url);
    const pieces: Buffer[] = [];
    socket.on('data', (piece) => pieces.push(piece));
    for (const byte of Buffer.from(good('connection: close'))) socket.write(Uint8Array.of(byte));
    await once(socket, 'close');
    expect(statusesOf(Buffer.concat(pieces).toString())).toEqual(['200']);
    test.served++;
  });

  it('serves others while a body does not come', async () => {
    const socket = await openSocket(gateway.url);
    socket.write(good('connection: close').slice(0, -10));
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    expect((await get(gateway, '/me')).body).toMatchObject({ held_credits: 0 });
    const closed = once(socket.resume(), 'close');
    socket.write(GOOD.slice(-10));
    await closed;
    test.served += 2;
  });

  it('takes a body in chunks, with extensions and trailers', async () => {
    const chunks = [GOOD.slice(0, 10), GOOD.slice(10)].map((part) => `${part.length.toString(16)};x=y\r\n${part}\r\n`);
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`;
    const answer = await sendRaw(gateway.url, `${head}${chunks.join('')}0\r\nx-trailer: 1\r\n\r\n`);
    expect(statusesOf(answer)).toEqual(['200']);
    test.served++;
  });

  it('answers 404 in the envelope for a path with dots', async () => {
    const answer = await sendRaw(
      gateway.url,
      'GET /v1/messages/../../etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
    );
    expect(messageOf(lastBodyOf(answer), 404)).toBe('there is no GET /v1/messages/../../etc/passwd');
  });

  it('does not go on as another protocol', async () => {
    const upgrade = 'GET /me HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n';
    expect(statusesOf(await sendRaw(gateway.url, upgrade))).toEqual(['401']);
  });

  it('refuses CONNECT and absolute addresses of others', async () => {
    const absolute =
      'GET http://elsewhere.example/secret HTTP/1.1\r\nhost: elsewhere.example\r\nconnection: close\r\n\r\n';
    expect(statusesOf(await sendRaw(gateway.url, absolute))).toEqual(['404']);
    const before = new Map(gateway.gateway.process.counts.byStatus()).get(404) ?? 0;
    for (const more of ['', 'content-length: 5\r\n']) {
      const tunnel = `CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n${more}\r\nhello`;
      const answer = await sendRaw(gateway.url, tunnel);
      expect(answer).toMatch(/^HTTP\/1\.1 404 .*\r\nrequest-id: req_\w+\r\n.*\r\nconnection: close\r\n/is);
      expect(messageOf(lastBodyOf(answer), 404)).toBe('there is no CONNECT elsewhere:443');
      expect(statusesOf(answer)).toEqual(['404']);
    }
    expect(statusesOf(await sendRaw(gateway.url, 'CONNECT a:1 HTTP/1.1\r\n\r\n'))).toEqual(['400']);
    const { counts } = gateway.gateway.process;
    await expect.poll(() => (new Map(counts.byStatus()).get(404) ?? 0) - before).toBe(2);
  });

  it('lets go of a connection that asked for a tunnel and sends on and on whatever it is told, or resets it', async () => {
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n');
    await once(socket.resume(), 'end');
    const sending = setInterval(() => socket.write('what was to go through it'), 20);
    const reset = await openSocket(gateway.url);
    reset.write('CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere\r\n\r\n');
    reset.resetAndDestroy();
    await closed;
    clearInterval(sending);
    expect(await fetch(`${gateway.url}/healthz`)).toMatchObject({ status: 200 });
  });
});

describe('a body over 32 MiB', () => {
  const LIMIT = 'the body is longer than 33554432 bytes (32 MiB)';
  const filled = (bytes: number) => {
    const frame = `${GOOD.slice(0, -1)},"filler":""}`;
    return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`);
  };

  it('is refused by its length alone, before it is sent', async () => {
    const head = requestText(gateway.key, '', []).replace('content-length: 0', `content-length: ${33 * MIB}`);
    const socket = await openSocket(gateway.url);
    const answered = once(socket, 'data');
    socket.write(head);
    const [answer] = await answered;
    expect(messageOf(lastBodyOf(String(answer)), 400)).toBe(LIMIT);
    socket.destroy();
  });

  it('is refused when it comes in chunks', async () => {
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const chunk = Buffer.concat([Buffer.from(`${MIB.toString(16)}\r\n`), Buffer.alloc(MIB, 'x'), Buffer.from('\r\n')]);
    const answer = await sendRaw(
      gateway.url,
      Buffer.concat([Buffer.from(head), ...Array(33).fill(chunk), Buffer.from('0\r\n\r\n')]),
    );
    expect(messageOf(lastBodyOf(answer), 400)).toBe(LIMIT);
  });

  it('is refused from the first byte too many on', async () => {
    const answered = await post(gateway, '/v1/messages', filled(32 * MIB + 1));
    expect(messageOf(answered.text, 400)).toBe(LIMIT);
  });

  it('passes with the last byte that fits', async () => {
    expect((await post(gateway, '/v1/messages', filled(32 * MIB))).status).toBe(200);
    test.served++;
  });
});

it('has served whoever paid beside all that, and holds nothing of it', () => gateway.expectServedBeside());
