import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { CrashClients } from './crash-clients.ts';
import type { ClientKey } from './post-planned.ts';

const ACCOUNT = 'acct_ada';
const MODELS = ['opal-000', 'opal-001'];
const REFUSED = JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message: 'behind' } });

/** A gateway that refuses so many requests before it answers, as one does whose machine is busy with other things. */
async function refusing(times: number): Promise<string> {
  let seen = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const isRefused = ++seen <= times;
      const body = isRefused ? REFUSED : '{}';
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      response.writeHead(isRefused ? 529 : 200, headers).end(body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const keyOf = (count: number): ClientKey => ({ accountId: ACCOUNT, keyId: `key_${count}`, key: `svc_${count}` });

it('goes on until requests are served, with keys that are issued as refusals use them up', async () => {
  const url = await refusing(4 * MODELS.length);
  let issued = 0;
  const clients = new CrashClients({
    random: new SeededRandom(7),
    keys: [keyOf(0)],
    models: MODELS,
    standstillMs: 20_000,
  });
  clients.useGateways([url]);
  await clients.untilServed(1, async () => keyOf(++issued));
  await clients.stop();
  // More than one key is good for. (Some clients leave before they are answered.)
  expect(clients.sent.filter(({ status }) => status === 529).length).toBeGreaterThan(MODELS.length);
  const slots = clients.sent.map(({ keyId, planned }) => `${keyId} ${planned.model}`);
  expect(new Set(slots).size).toBe(slots.length);
});

it('says what was answered where none of what is waited for comes', async () => {
  const url = await refusing(Number.MAX_SAFE_INTEGER);
  const clients = new CrashClients({
    random: new SeededRandom(7),
    keys: [keyOf(0)],
    models: MODELS,
    standstillMs: 1_000,
  });
  clients.useGateways([url]);
  await expect(clients.untilServed(1, async () => keyOf(0))).rejects.toThrow(
    /^0 of 1 that were waited for have come.*\d+ of 529 overloaded_error/,
  );
  await clients.stop();
});
