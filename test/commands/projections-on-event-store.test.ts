import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { viewFilesOf } from '../../projections/view-files.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { inOwnProcess } from '../fixtures/gateway/own-process.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { stopInOrder } from '../fixtures/processes/child-process.ts';
import { runHereForJson } from '../fixtures/processes/run-here.ts';
import { runForJson, runProgram } from '../fixtures/processes/run-program.ts';
import { traffic } from './billed-traffic.ts';
import { folderWithLedger } from './folder-with-ledger.ts';

const WRONG = 7;

/** A gateway in a process of its own on an event store, whose views have a balance that the log has not. */
async function spoiled() {
  const begun = await startTestGateway(await folderWithLedger('eventstoredb'));
  await begun.stop();
  const views = new DatabaseSync(viewFilesOf(begun.data).live);
  views.exec(
    `UPDATE ${BALANCE_TABLE} SET state = json_set(state, '$.grants[0].remaining', '${WRONG}', '$.balance', '${WRONG}'), balance_micro_usd = '${WRONG}'`,
  );
  views.close();
  return { accountId: begun.accountId, gateway: await inOwnProcess(begun) };
}

it('beside a gateway on an event store that serves, views are rebuilt, switched to and rolled back: no request is refused', async () => {
  const { accountId, gateway } = await spoiled();
  const config = ['--config', gateway.config];
  const projections = (...args: string[]) => runForJson('projections', ...args, ...config);
  const credits = async () => ((await get(gateway, '/me')).body as { available_credits: number }).available_credits;
  expect(await credits()).toBe(WRONG);
  const { answered, refused, stop } = traffic(gateway, { clients: 2 });

  expect(await projections('rebuild', '--all')).toMatchObject({ compared: {}, switched: 'in the gateway' });
  expect(await credits()).toBe(1_000_000_000);
  // What another process writes comes by the subscription.
  expect(await runProgram('credits', 'grant', accountId, '--usd', '1', ...config)).toMatchObject({ exitCode: 0 });
  await expect.poll(credits).toBe(1_001_000_000);
  expect(await projections('status')).toMatchObject({ files: [{ state: 'live' }, { state: 'kept for rollback' }] });

  expect(await projections('rollback')).toMatchObject({ switched: 'in the gateway' });
  expect(await credits()).toBe(1_000_000 + WRONG);
  expect(await projections('rebuild', '--all')).toMatchObject({ leftBefore: 'nothing', switched: 'in the gateway' });
  expect(await credits()).toBe(1_001_000_000);

  // Whatever was too much for the machine meanwhile, requests are served behind it.
  const then = answered.length + 10;
  await expect.poll(() => answered.length).toBeGreaterThan(then);
  await stop();
  expect(refused).toEqual([]);
  await stopInOrder(gateway.program);
  expect(await runProgram('projections', 'diff', '--all', ...config)).toMatchObject({ exitCode: 0 });
  const verified = await runProgram('ledger', 'verify', '--all', ...config);
  expect(verified, verified.stderr).toMatchObject({ exitCode: 0 });
  const { stdout } = await runProgram('--json', 'ledger', 'events', accountId, ...config);
  expect(answered.length).toBeGreaterThan(0);
  expect(stdout.match(/"UsageRecorded"/g)).toHaveLength(answered.length);
});

it('an account of an event store is parked and read again by command, beside a gateway and without one', async () => {
  const folder = await folderWithLedger('eventstoredb');
  const begun = await startTestGateway(folder);
  const { accountId } = begun;
  const config = ['--config', join(folder.data, 'gateway.json')];
  const json = (...args: string[]) => runHereForJson(...args, ...config);
  const reason = ['--reason', 'its balance looks wrong'];
  const statusOf = async (gateway: TestGateway) => (await post(gateway, '/v1/messages', asking('svc-mock'))).status;
  const setAside = async () => (await json('projections', 'status')).setAside;

  expect(await json('projections', 'park', accountId, ...reason)).toMatchObject({ parked: 'in the gateway' });
  expect(await statusOf(begun)).toBe(529);
  await json('credits', 'grant', accountId, '--usd', '1');
  expect(await setAside()).toMatchObject([{ accountId, cause: 'parked', why: reason[1] }]);
  expect(await json('projections', 'unpark', accountId)).toMatchObject({ unparked: 'in the gateway' });
  expect(await statusOf(begun)).toBe(200);
  expect((await get(begun, '/me')).body).toMatchObject({ available_credits: 1_001_000_000 });
  await begun.stop();

  await json('projections', 'park', accountId, ...reason);
  await json('credits', 'grant', accountId, '--usd', '1');
  const parked = await startTestGateway(folder);
  expect(await statusOf(parked)).toBe(529);
  await parked.stop();
  await json('projections', 'unpark', accountId);
  expect(await setAside()).toMatchObject([{ accountId, cause: 'unparked' }]);
  const again = endedLater(await startTestGateway(folder));
  expect(await statusOf(again)).toBe(200);
  expect((await get(again, '/me')).body).toMatchObject({ available_credits: 1_002_000_000 });
  // What has been read again is written at its next write.
  await expect.poll(setAside).toEqual([]);
});
