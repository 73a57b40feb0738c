import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { removeViews } from '../../projections/remove-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { toMonthlyVersion2 } from '../fixtures/ledger/older-views.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';

type LastUsed = string | null | undefined;
/** When a key was last used. */
async function lastUsed({ data, accountId }: Pick<TestGateway, 'data' | 'accountId'>): Promise<LastUsed> {
  const listed = await runHereForJson('key', 'list', accountId, '--data', data);
  return (listed as unknown as { readonly lastUsedAt: LastUsed }[])[0]?.lastUsedAt;
}

/** One request, recorded and in the views' file. */
async function used(gateway: TestGateway): Promise<void> {
  expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  await gateway.gateway.process.settlement.idle();
  await gateway.gateway.process.projections.whenWritten();
}

const execute = (data: string, sql: string): void => {
  const database = new DatabaseSync(viewFilesOf(data).live, { timeout: 60_000 });
  database.exec(sql);
  database.close();
};

/** Nobody could tell it from the ledger. */
const OF_VIEWS = '2031-01-01T00:00:00.000Z';
const TO_VIEWS = `UPDATE monthly_v3_last_use SET last_used_at = '${OF_VIEWS}'`;

it('is told by the views of a gateway that serves, and of one that has ended; by the ledger where it was killed, and where there are none', async () => {
  const gateway = await startTestGateway();
  const { data } = gateway;
  expect(await lastUsed(gateway)).toBe(null);
  await used(gateway);
  const first = await lastUsed(gateway);
  expect(Date.parse(String(first))).toBeGreaterThan(0);
  execute(data, TO_VIEWS);
  expect(await lastUsed(gateway)).toBe(OF_VIEWS);
  await gateway.stop();
  expect(await lastUsed(gateway)).toBe(OF_VIEWS);
  // Its rows are looked at by the next start.
  execute(data, 'DROP TABLE closed_whole');
  expect(await lastUsed(gateway)).toBe(first);
  removeViews(viewFilesOf(data).live);
  expect(await lastUsed(gateway)).toBe(first);
});

it('counts what came behind the views, and outlives the gateway', async () => {
  const gateway = await startTestGateway();
  const { data } = gateway;
  await used(gateway);
  const first = await lastUsed(gateway);
  execute(data, `UPDATE monthly_v3_last_use SET last_used_at = '2020-01-01T00:00:00.000Z'`);
  await gateway.stop();
  expect(await lastUsed(gateway)).toBe('2020-01-01T00:00:00.000Z');
  const again = await startTestGateway({ data });
  await used({ ...again, key: gateway.key });
  const second = await lastUsed(gateway);
  expect(String(second) > String(first)).toBe(true);
  await again.stop();
  expect(await lastUsed(gateway)).toBe(second);
});

it('is told by the ledger while the views are made of those of before, and where a row of them is damaged, with a warning', async () => {
  const gateway = await startTestGateway();
  const { data, accountId } = gateway;
  await used(gateway);
  await gateway.stop();
  const first = await lastUsed(gateway);
  execute(data, `${TO_VIEWS}; UPDATE monthly_v3_revision SET revision = -7`);
  expect(await lastUsed(gateway)).toBe(first);
  const listed = await runHere('key', 'list', accountId, '--data', data);
  expect(listed.stderr).toMatch(/views\.db cannot be read as views \(expected a revision .*\): the ledger is read/);
  execute(data, 'UPDATE monthly_v3_revision SET revision = 0');
  toMonthlyVersion2(viewFilesOf(data).live);
  expect(await lastUsed(gateway)).toBe(first);
  const begin = Promise.withResolvers<void>();
  const renewing = await startTestGateway({ data, rebuildViews: () => begin.promise.then(() => '') });
  expect(await lastUsed(gateway)).toBe(first);
  begin.resolve();
  await renewing.stop();
});
