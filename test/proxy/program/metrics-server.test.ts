import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Gauge, Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { type MetricsServer, startMetricsServer } from '../../../proxy/program/metrics-server.ts';

const placeOf = ({ url }: Pick<MetricsServer, 'url'>) => {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
};

describe('the metrics server', () => {
  const servers: MetricsServer[] = [];
  const start = async (registry: Registry, port = 0): Promise<MetricsServer> => {
    const server = await startMetricsServer({
      ...{ host: '127.0.0.1', port, registry },
      posts: { '/told': async () => ({ status: 200, says: 'heard' }) },
    });
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  it('answers with the metrics as they are when asked', async () => {
    const registry = new Registry();
    const gauge = new Gauge({ name: 'gateway_test', help: 'a test', registers: [registry] });
    const { url } = await start(registry);
    gauge.set(7);
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toBe(registry.contentType);
    expect(await response.text()).toContain('gateway_test 7\n');
  });

  it('makes them once for all that ask at once, and answers a connection once', async () => {
    let made = 0;
    const registry = new Registry();
    const collect = (): void => {
      made++;
    };
    new Gauge({ name: 'gateway_test', help: 'a test', registers: [registry], collect });
    const { port, hostname } = new URL((await start(registry)).url);
    const answers = Array.from({ length: 5 }, async () => {
      const socket = connect(Number(port), hostname);
      socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(500));
      let text = '';
      for await (const piece of socket) text += String(piece);
      return text.match(/^HTTP\/1\.1 \d+/gm);
    });
    for (const statuses of await Promise.all(answers)) expect(statuses).toEqual(['HTTP/1.1 200']);
    expect(made).toBeLessThanOrEqual(answers.length);
  });

  it.each(['host: x\r\nhost: x', 'host: a b'])('serves no request for what is not one host: %j', async (hosts) => {
    const { port, hostname } = new URL((await start(new Registry())).url);
    for (const begin of ['GET /healthz', 'POST /told']) {
      const socket = connect(Number(port), hostname);
      socket.write(`${begin} HTTP/1.1\r\n${hosts}\r\ncontent-length: 9000\r\n\r\n`);
      let text = '';
      for await (const piece of socket) text += String(piece);
      expect(text).toMatch(/^HTTP\/1\.1 400 /);
    }
  });

  it('waits for nothing of a body that is said to be too long', async () => {
    const { port, hostname } = new URL((await start(new Registry())).url);
    const socket = connect(Number(port), hostname);
    socket.write(`POST /told HTTP/1.1\r\nhost: x\r\ncontent-length: ${256 * 1_024 + 1}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  // What were parsed would be answered with 400, or with 503.
  it.each([
    ['a body that nobody reads', 'GET /healthz', '1\r\n{\r\n'.repeat(9_000), ['200 OK']],
    ['a body of a path that there is not', 'POST /untold', '1\r\n{\r\n'.repeat(9_000), ['405 Method Not Allowed']],
    ['a body in crumbs', 'POST /told', '1\r\n{\r\n'.repeat(9_000), ['413 Payload Too Large']],
    ['a body that is too long', 'POST /told', `40001\r\n${'x'.repeat(0x40001)}\r\n`, ['413 Payload Too Large']],
    [
      'a body in few pieces',
      'POST /told',
      `1\r\n{\r\n0\r\n\r\n${'GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(500)}`,
      ['200 OK'],
    ],
  ])('parses nothing that comes behind its answer: %s', async (_what, begin, body, answers) => {
    const { port, hostname } = new URL((await start(new Registry())).url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `${begin} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${body}no chunk and no request\r\n\r\n`,
    );
    let text = '';
    for await (const piece of socket) text += String(piece);
    const statuses = [...text.matchAll(/^HTTP\/1\.1 (.*?)\r$/gm)].map(([, status]) => status);
    expect(statuses.filter((status) => !status?.startsWith('503'))).toEqual(answers);
    expect(statuses.length).toBeLessThanOrEqual(2);
    // Node uses its parser again, for whoever comes next.
    for (let times = 0; times < 3; times++)
      expect((await fetch(`http://${hostname}:${port}/healthz`, { headers: { connection: 'close' } })).status).toBe(
        200,
      );
  });

  it('takes who expects what nobody knows as any other, and closes behind the answer', async () => {
    const { port, hostname } = new URL((await start(new Registry())).url);
    const socket = connect(Number(port), hostname);
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: 200-ok\r\n\r\n');
    let text = '';
    for await (const piece of socket) text += String(piece);
    expect(text).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
  });

  it('answers all of many who tell something at one moment', async () => {
    const told = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const workerData = { ...placeOf(await start(new Registry())), many: 90, told };
    const tellers = new Worker(new URL('../../fixtures/tell-at-once.ts', import.meta.url), { workerData });
    const answers = once(tellers, 'message');
    // Nobody is taken before all have come and have said what they have to say.
    Atomics.wait(told, 0, 0, 10_000);
    expect((await answers)[0]).toEqual(Array.from({ length: 90 }, () => 'HTTP/1.1 200'));
  });

  it('says that it is there, and nothing else', async () => {
    const { url } = await start(new Registry());
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it.each([
    ['ask for nothing', 'G'],
    ['never end what they tell', 'POST /told HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n{'],
  ])('answers who asks, however many others keep a connection open and %s', async (_, begun) => {
    const registry = new Registry();
    const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const collect = (): Promise<void> => {
      asked.resolve();
      return gate.promise;
    };
    new Gauge({ name: 'gateway_test', help: 'a test', registers: [registry], collect });
    const { hostname, port } = new URL((await start(registry)).url);
    const open = async () => {
      const socket = connect(Number(port), hostname).on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const silent: Socket[] = [];
    const openSilent = async (count: number): Promise<void> => {
      for (let number = 0; number < count; number++) {
        const socket = await open();
        socket.write(begun);
        silent.push(socket);
      }
    };
    await openSilent(150);
    const asking = await open();
    const closed = once(asking, 'close');
    await openSilent(10);
    asking.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
    await Promise.race([asked.promise, closed]);
    await openSilent(60);
    gate.resolve();
    const [answer] = await Promise.race([once(asking, 'data'), closed]);
    expect(String(answer)).toMatch(/^HTTP\/1.1 200/);
    for (const socket of silent) socket.destroy();
  });

  it.each([
    ['GET', 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['POST', 'POST /told HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'],
  ])('answers who asks, however many others were answered (%s), and keep their connections', async (_, asked) => {
    const { url } = await start(new Registry());
    const kept: Socket[] = [];
    let ended = 0;
    for (let number = 0; number < 130; number++) {
      const socket = connect({ ...placeOf({ url }), allowHalfOpen: true }).on('error', () => undefined);
      const answered = Promise.race([once(socket, 'data'), once(socket, 'close')]);
      socket.on('end', () => ended++);
      socket.write(asked);
      expect(String((await answered)[0])).toMatch(/^HTTP\/1.1 200 .*\r\nconnection: close\r\n/is);
      kept.push(socket);
    }
    for (let times = 0; times < 2; times++) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    // By this end, with the answer: none of them had to make way.
    expect(ended).toBe(kept.length);
    for (const socket of kept) socket.destroy();
  });

  it('answers who asks, however many others fetch nothing of their answers', async () => {
    const registry = new Registry();
    // More than is on the way to who does not read.
    new Gauge({ name: 'gateway_test', help: 'x'.repeat(4 * 2 ** 20), registers: [registry] });
    const { url } = await start(registry);
    const where = placeOf({ url });
    const idle = Array.from({ length: 110 }, () => {
      const socket = connect(where).on('error', () => undefined);
      socket.pause();
      socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
      return socket;
    });
    await Promise.all(idle.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])));
    for (let times = 0; times < 3; times++) expect((await fetch(`${url}/healthz`)).status).toBe(200);
    for (const socket of idle) socket.destroy();
  });

  it('does not start on an address that is taken', async () => {
    const { url } = await start(new Registry());
    await expect(start(new Registry(), Number(new URL(url).port))).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('closes although a client is in the middle of a request', async () => {
    const server = await start(new Registry());
    const client = connect(Number(new URL(server.url).port), '127.0.0.1');
    client.on('error', () => undefined);
    client.write('GET /metrics HTTP/1.1\r\n');
    // An answer on a later connection tells that the server has seen the earlier one.
    await (await fetch(`${server.url}/healthz`)).text();
    await server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
    client.destroy();
  });
});
