import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A log whose followers are told that they have caught up only when a gate opens. */
function gated(log: EventLog, gate: Promise<void>): EventLog {
  return {
    append: (...args) => log.append(...args),
    readStream: (...args) => log.readStream(...args),
    readAll: (...args) => log.readAll(...args),
    headPosition: () => log.headPosition(),
    close: () => log.close(),
    subscribeAll: (options) =>
      log.subscribeAll({ ...options, onCaughtUp: () => void gate.then(() => options.onCaughtUp?.()) }),
  };
}

it('listens and is alive, but takes no request and is not ok, until the views have caught up', async () => {
  const ten = { requestsPerMinute: 10 };
  const first = await startTestGateway({ settings: { rateLimits: { paid: ten, unpaid: ten } } });
  const { data, key } = first;
  await first.stop();
  const gate = Promise.withResolvers<void>();
  const log = gated(await openSqliteEventLog({ path: join(data, 'ledger.db') }), gate.promise);
  const configuration = readConfiguration({ file: join(data, 'gateway.json'), environment: {}, callsProviders: true });
  const gateway = await Gateway.start({
    configuration,
    log,
    logger: pino({ level: 'silent' }),
    clock: Date.now,
    monotonic: Date.now,
  });
  const status = async (path: string) => (await fetch(gateway.url + path)).status;
  const isOk = async () => ((await (await fetch(`${gateway.url}/status`)).json()) as { ok: boolean }).ok;
  const post = () =>
    fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      body: JSON.stringify({ model: 'svc-mock', max_tokens: 8, messages: [] }),
    });

  expect(await status('/healthz')).toBe(200);
  expect(await status('/readyz')).toBe(503);
  expect(await isOk()).toBe(false);
  const refused = await post();
  expect(refused.status).toBe(529);
  // Who is turned away because nobody is let in has taken nothing.
  expect(refused.headers.get('anthropic-ratelimit-requests-remaining')).toBe('8');
  expect(await refused.json()).toMatchObject({
    error: { type: 'overloaded_error', message: expect.stringContaining('catching up') },
  });

  // A key that the ledger may have by now is told to come again, wherever it asks.
  const unknown = () =>
    Promise.all(
      ['/me', '/v1/models', '/v1/models/svc-mock'].map(
        async (path) =>
          (await fetch(gateway.url + path, { headers: { 'x-api-key': `${key.slice(0, -4)}AAAA` } })).status,
      ),
    );
  expect(await unknown()).toEqual([529, 529, 529]);

  gate.resolve();
  await gateway.whenReady();
  expect(await unknown()).toEqual([401, 401, 401]);
  expect(await status('/readyz')).toBe(200);
  expect(await isOk()).toBe(true);
  const served = await post();
  expect(served.status).toBe(200);
  expect(served.headers.get('anthropic-ratelimit-requests-remaining')).toBe('7');
  await gateway.stop();
  await log.close();
});

it('refuses to start, and leaves nothing open, where the port is taken', async () => {
  const first = await startTestGateway({});
  const port = Number(new URL(first.url).port);
  const data = temporaryFolder();
  await expect(startTestGateway({ data, settings: { listen: { port } } })).rejects.toThrow(
    / is taken; choose another port with --port or listen\.port$/,
  );
  // The journal's lock is free again.
  const second = await startTestGateway({ data });
  await second.stop();
  await first.stop();
});
