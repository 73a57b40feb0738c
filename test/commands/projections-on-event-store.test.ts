import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { get } from '../fixtures/gateway/call.ts';
import { inOwnProcess } from '../fixtures/gateway/own-process.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { stopInOrder } from '../fixtures/processes/child-process.ts';
import { runForJson, runProgram } from '../fixtures/processes/run-program.ts';
import { traffic } from './billed-traffic.ts';

const WRONG = 7;

/** A gateway in a process of its own on an event store, whose views have a balance that the log has not. */
async function spoiled() {
  const { connectionString } = endedLater(await startFakeEventStore());
  const log = endedLater(await openEventStoreDbEventLog({ connectionString }));
  const begun = await startTestGateway({ log, settings: { eventLog: { kind: 'eventstoredb', connectionString } } });
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
