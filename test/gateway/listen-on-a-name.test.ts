import dns from 'node:dns';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';

/** Of `localhost` a machine often has two, and here these. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));

it('of a name with several addresses one is listened at, by the server that has all bounds', async () => {
  const real = dns.lookup;
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((...asked: Parameters<Lookup>) => {
    const [name, options, told] = asked;
    return name === 'localhost' ? told(null, ADDRESSES) : real(name, options, told);
  }) as typeof real);
  onTestFinished(() => lookup.mockRestore());
  const gateway = await startTestGateway({ settings: { listen: { host: 'localhost', port: 0 } } });
  onTestFinished(() => gateway.stop());
  const { port, hostname } = new URL(gateway.url);
  expect(hostname).toBe('127.0.0.1');
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  const other = connect(Number(port), '127.0.0.2');
  await expect(once(other, 'connect')).rejects.toThrow('ECONNREFUSED');
});

/** As Node and Fastify ask. */
type Lookup = (
  name: string,
  options: dns.LookupAllOptions,
  told: (error: Error | null, found: dns.LookupAddress[]) => void,
) => void;
