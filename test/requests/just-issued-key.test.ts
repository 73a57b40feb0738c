import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SubscribeAllOptions, Subscription } from '../../contracts/event-log.ts';
import { keyId, type Position } from '../../contracts/ids.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { asking, call } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

/** Hands its events over only once somebody has asked how far it goes, as a log does whose feed lags a moment behind. */
class LaggingLog extends MemoryEventLog {
  isHeldBack = false;
  #asked = Promise.withResolvers<void>();

  holdBack(): void {
    this.isHeldBack = true;
    this.#asked = Promise.withResolvers();
  }

  override async headPosition(): Promise<Position | null> {
    const head = await super.headPosition();
    this.isHeldBack = false;
    this.#asked.resolve();
    return head;
  }

  override subscribeAll(options: SubscribeAllOptions): Subscription {
    return super.subscribeAll({
      ...options,
      onEvents: async (events) => {
        if (this.isHeldBack) await this.#asked.promise;
        return options.onEvents(events);
      },
    });
  }
}

const log = new LaggingLog();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ log });
});
afterAll(() => gateway.stop());

/** As a command of another process issues one: nobody has waited for the views. */
async function issued(): Promise<string> {
  const { secret, ...made } = newKey();
  log.holdBack();
  const before = log.events.length;
  const inViews = gateway.command({
    ...{ type: 'IssueKey', name: 'new', sha256: made.sha256, last4: made.last4, keyId: keyId(made.keyId) },
    ...{ issuer: 'test', expiresAtMs: null, models: null, monthlyLimit: null, nowMs: Date.now() },
  });
  await expect.poll(() => log.events.length).toBeGreaterThan(before);
  inViews.catch(() => undefined);
  return secret;
}

const MESSAGE = asking('svc-mock');

it.each<[string, unknown]>([
  ['/me', undefined],
  ['/v1/models', undefined],
  ['/v1/models/svc-mock', undefined],
  ['/v1/messages', MESSAGE],
])('a key that was issued this moment is served, though the views have not heard of it: %s', async (path, body) => {
  const headers = { 'x-api-key': await issued(), 'content-type': 'application/json' };
  expect(gateway.gateway.process.projections.accounts.read(gateway.accountId).revision).toBeLessThan(
    log.events.filter(({ stream }) => stream === `account-${gateway.accountId}`).length - 1,
  );
  expect(await call(gateway.url, path, { headers, body })).toMatchObject({ status: 200 });
});

it.each<[string, unknown]>([
  ['/me', undefined],
  ['/v1/messages', MESSAGE],
])('a key that nobody has is told so, once the views have what the ledger has: %s', async (path, body) => {
  const headers = { 'x-api-key': newKey().secret, 'content-type': 'application/json' };
  expect(await call(gateway.url, path, { headers, body })).toMatchObject({
    status: 401,
    body: { error: { type: 'authentication_error', message: 'the service key is not known' } },
  });
});
