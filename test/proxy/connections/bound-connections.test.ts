import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endedLater } from '../../fixtures/ended-later.ts';
import { asking, call, get, messageOf } from '../../fixtures/gateway/call.ts';
import { lastBodyOf, openSocket, requestText, sendRaw, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { startTestGateway, type TestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { hangUp, wait } from '../../upstream/answer.ts';

const METRICS = { metrics: { serve: { port: 0 } } };
const start = async (settings: object): Promise<TestGateway> =>
  endedLater(await startTestGateway({ settings: { ...METRICS, ...settings } }));

const kept = (socket: Socket): Socket => {
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
};
/** Whether a connection is answered, or closed without a word. */
async function isServed(url: string): Promise<boolean> {
  const socket = kept(await openSocket(url));
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
  return Promise.race([once(socket, 'data').then(() => true), once(socket, 'close').then(() => false)]);
}
async function refusedConnections({ gateway: { metricsUrl } }: TestGateway): Promise<number> {
  const { text } = await call(metricsUrl ?? '', '/metrics');
  return Number(/^gateway_connections_refused_total (\d+)$/m.exec(text)?.[1]);
}
const ME = (key: string, ...headers: string[]) =>
  ['GET /me HTTP/1.1', 'host: x', `x-api-key: ${key}`, 'connection: close', ...headers, '', ''].join('\r\n');

describe('connections', () => {
  it('have a bound in all, and room again when one has gone', async () => {
    const gateway = await start({ connections: { max: 3 } });
    const three = await Promise.all([1, 2, 3].map(() => openSocket(gateway.url).then(kept)));
    await expect.poll(() => isServed(gateway.url)).toBe(false);
    expect(await refusedConnections(gateway)).toBeGreaterThan(0);
    three[0]?.destroy();
    await expect.poll(() => isServed(gateway.url)).toBe(true);
  });

  it('have a bound of each address that is no trusted proxy, and room again when one has gone', async () => {
    const gateway = await start({ connections: { perAddress: 2 }, trustedProxies: ['192.0.2.1'] });
    const first = kept(await openSocket(gateway.url));
    expect([await isServed(gateway.url), await isServed(gateway.url)]).toEqual([true, false]);
    expect(await refusedConnections(gateway)).toBe(1);
    const { hostname, port } = new URL(gateway.url);
    const other = kept(connect({ host: hostname, port: Number(port), localAddress: '127.0.0.9' }));
    other.write(ME(gateway.key));
    const [answer] = await once(other, 'data');
    expect(statusesOf(String(answer))).toEqual(['200']);
    first.destroy();
    await expect.poll(() => isServed(gateway.url)).toBe(true);
  });

  it('of loopback have none by default', async () => {
    const gateway = await start({ connections: { perAddress: 1 } });
    expect(await Promise.all([1, 2, 3, 4].map(() => isServed(gateway.url)))).toEqual([true, true, true, true]);
  });
});

describe('requests through a trusted proxy', () => {
  const setUp = async (settings: object) => {
    const { upstream, gateway } = await startOnUpstream(onTestFinished, {
      settings: { ...METRICS, connections: { perAddress: 1 }, ...settings },
    });
    const gate = Promise.withResolvers<void>();
    onTestFinished(() => gate.resolve());
    upstream.answerWith([wait(gate.promise), hangUp]);
    /** A request that does not end before the gate is opened. */
    const hold = async (...headers: string[]): Promise<Socket> => {
      const sent = upstream.requests.length;
      const socket = kept(await openSocket(gateway.url));
      socket.write(requestText(gateway.key, JSON.stringify(asking('opal-medium')), headers));
      await upstream.seen(sent);
      return socket;
    };
    const me = async (...headers: string[]): Promise<string> => {
      const answer = await sendRaw(gateway.url, ME(gateway.key, ...headers));
      if (statusesOf(answer)[0] === '429')
        expect(messageOf(lastBodyOf(answer), 429)).toBe('more than 1 request from this address are under way');
      return statusesOf(answer)[0] ?? '';
    };
    return { gateway, gate, hold, me };
  };

  it('are counted by the last hop that is no such proxy, and not by what stands before it', async () => {
    const { gate, hold, me } = await setUp({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] });
    await hold('x-forwarded-for: 203.0.113.5');
    expect(await me('x-forwarded-for: 203.0.113.5')).toBe('429');
    expect(await me('x-forwarded-for: 198.51.100.1, 203.0.113.5')).toBe('429');
    expect(await me('x-forwarded-for: 198.51.100.1, 203.0.113.5, 10.1.2.3')).toBe('429');
    expect(await me('x-forwarded-for: 198.51.100.1', 'x-forwarded-for: 203.0.113.5')).toBe('429');
    expect(await me('x-forwarded-for: 203.0.113.5, 198.51.100.1')).toBe('200');
    expect(await me('x-forwarded-for: 10.9.9.9')).toBe('200');
    expect(await me()).toBe('200');
    gate.resolve();
    await expect.poll(() => me('x-forwarded-for: 203.0.113.5')).toBe('200');
  });

  it('say nothing where the proxy is not trusted', async () => {
    const { hold, me } = await setUp({ trustedProxies: ['192.0.2.1'], connections: { perAddress: 100 } });
    await hold('x-forwarded-for: 203.0.113.5');
    expect(await me('x-forwarded-for: 203.0.113.5')).toBe('200');
  });

  it('are forgotten when their client leaves', async () => {
    const { gateway, hold, me } = await setUp({});
    const held = await hold('x-forwarded-for: 203.0.113.5');
    expect(await me('x-forwarded-for: 203.0.113.5')).toBe('429');
    const metrics = await (await fetch(`${gateway.gateway.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_rate_limited_total\{whose="address",limit="concurrentRequests"\} 1$/m);
    held.destroy();
    await expect.poll(() => me('x-forwarded-for: 203.0.113.5')).toBe('200');
    expect((await get(gateway, '/me')).status).toBe(200);
  });
});
