import { expect, onTestFinished, test } from 'vitest';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

const settings = { metrics: { serve: { port: 0 } } };

async function operatorsPage({ gateway }: TestGateway, path: string): Promise<unknown> {
  const answer = await fetch(`${gateway.metricsUrl}${path}`);
  return answer.json();
}

test('a ledger of a server has no seals without a key, which the start and the operators are told', async () => {
  const { connectionString } = endedLater(await startFakeEventStore());
  const log = await openEventStoreDbEventLog({ connectionString });
  onTestFinished(() => log.close());
  const logLines: string[] = [];
  const gateway = endedLater(
    await startTestGateway({
      log,
      logLines,
      settings: { ...settings, eventLog: { kind: 'eventstoredb', connectionString } },
    }),
  );
  const why = 'the ledger is not sealed: the configuration names no key for it';
  expect(logLines.join('')).toContain(why);
  const reason = expect.stringContaining(why);
  expect(await operatorsPage(gateway, '/status')).toEqual({ seals: { ok: false, reason } });
  expect(await operatorsPage(gateway, '/.well-known/ledger-keys')).toEqual({ keys: [] });
});

test('the embedded ledger is sealed with a key of its own', async () => {
  const gateway = endedLater(await startTestGateway({ settings }));
  const seals = { ok: true, newestSeal: null, eventsBehind: expect.any(Number) };
  expect(await operatorsPage(gateway, '/status')).toEqual({ seals });
});
