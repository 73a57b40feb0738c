import { describe, expect, it, onTestFinished } from 'vitest';
import { type EventLog, isLogAway } from '../../contracts/event-log.ts';
import { type AccountId, accountId, accountStream, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { catchUpOrPutAside } from '../../ledger/account/account-repository.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { type FakeEventStore, startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const OTHER = accountId('acct_other');

/** A gateway on an event store, and a key of a second account. */
async function start(): Promise<{ store: FakeEventStore; gateway: TestGateway; otherKey: string }> {
  const store = endedLater(await startFakeEventStore());
  const gateway = await startOn(store);
  const [trialGrantId, nowMs, email] = [grantId('grant_trial'), Date.now(), 'other@example.com'];
  const opening = { accountId: OTHER, kind: 'personal', email, trial: microUsd(0n), trialGrantId, nowMs } as const;
  await gateway.command({ type: 'OpenAccount', ...opening }, OTHER);
  const { key: otherKey } = await gateway.issueKey({}, OTHER);
  return { store, gateway, otherKey };
}

async function startOn({ connectionString }: FakeEventStore, data?: string): Promise<TestGateway> {
  const log: EventLog = await openEventStoreDbEventLog({ connectionString });
  onTestFinished(() => log.close());
  const settings = { metrics: { serve: { port: 0 } } };
  return endedLater(await startTestGateway({ log, settings, ...(data === undefined ? {} : { data }) }));
}

const ask = (gateway: Pick<TestGateway, 'url' | 'key'>) => post(gateway, '/v1/messages', asking('svc-mock'));
const streamOf = (id: AccountId): string => accountStream(id);

/** How a command ends, and what it says about it. */
async function endOf({ context, file }: ProgramInProcess, ...args: readonly string[]) {
  let said = '';
  const warn = (text: string): void => {
    said += text;
  };
  return { code: await runGatewayProgram({ ...context, warn }, ['--config', file, ...args]), said };
}

describe.each([
  ['deleted', (store: FakeEventStore, stream: string) => store.log.deleteSoftly(stream, 'any'), /was deleted|has \$tb/],
  ['deleted for ever', (store: FakeEventStore, stream: string) => store.log.tombstone(stream, 'any'), /tombstoned/],
  ['cut', (store: FakeEventStore, stream: string) => store.setMetadata(stream, { $maxCount: 1 }), /\$maxCount/],
  // What was known of it is asked for, and nothing comes behind.
  ['cut past its end', (store: FakeEventStore, stream: string) => store.setMetadata(stream, { $tb: 1_000 }), /\$tb/],
])('an account whose stream is %s', (_, hide, why) => {
  it('is refused and told while the gateway runs, as by its commands, and others go on', async () => {
    const { store, gateway, otherKey } = await start();
    expect((await ask(gateway)).status).toBe(200);
    hide(store, streamOf(gateway.accountId));
    await expect.poll(async () => (await ask(gateway)).status).toBe(529);
    const { text, headers } = await ask(gateway);
    expect(text).toMatch(why);
    expect(text).toContain('the account is set aside: account-acct_test ');
    expect(headers['x-should-retry']).toBe('true');
    for (const path of ['/me', '/v1/models']) expect((await get(gateway, path)).status).toBe(529);
    expect((await ask({ url: gateway.url, key: otherKey })).status).toBe(200);
    expect(gateway.gateway.process.projections.accounts.setAside.count).toBe(1);
    const metrics = await (await fetch(`${gateway.gateway.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_accounts_set_aside 1$/m);
    const program = await programInProcess(gateway.log);
    for (const command of [
      ['account', 'show'],
      ['key', 'list'],
      ['key', 'issue'],
    ]) {
      const { code, said } = await endOf(program, ...command, gateway.accountId);
      expect([command, code, said]).toEqual([command, EXIT.refused, expect.stringMatching(why)]);
      expect(said).toContain('acct_test: the account is set aside: ');
    }
    expect(await program.run('account', 'show', OTHER)).toContain('other@example.com');
  });

  it('is refused from the start on, and others are served', async () => {
    const { store, gateway, otherKey } = await start();
    // The views then stand at an event of the account, which the next start looks for.
    await gateway.issueKey();
    await gateway.stop();
    hide(store, streamOf(gateway.accountId));
    // The looking takes longer than everything else.
    let refusals = 3;
    store.faults.onSubscribe = ({ byType }) => (byType && refusals-- > 0 ? 'refuse' : 'ok');
    const again = await startOn(store, gateway.data);
    await again.gateway.whenReady();
    const { status, text } = await ask({ url: again.url, key: gateway.key });
    expect([status, text]).toEqual([529, expect.stringMatching(why)]);
    expect((await ask({ url: again.url, key: otherKey })).status).toBe(200);
  });
});

it('an account is served again when its events are', async () => {
  const { store, gateway } = await start();
  store.log.deleteSoftly(streamOf(gateway.accountId), 'any');
  await expect.poll(async () => (await ask(gateway)).status).toBe(529);
  store.setMetadata(streamOf(gateway.accountId), {});
  await expect.poll(async () => (await ask(gateway)).status).toBe(200);
});

it('an account that a read found hidden and that was mended, both while the look-out for metadata was away, is served again', async () => {
  const { store, gateway } = await start();
  const { accounts } = gateway.gateway.process.projections;
  const stream = streamOf(gateway.accountId);
  let isAway = true;
  store.faults.onSubscribe = ({ byType }) => (byType && isAway ? 'refuse' : 'ok');
  store.cutConnections();
  store.setMetadata(stream, { $tb: 1_000 });
  await expect
    .poll(async () => {
      await catchUpOrPutAside(gateway.log, accounts, gateway.accountId).catch((error: unknown) => {
        if (!isLogAway(error)) throw error;
      });
      return accounts.whyAside(gateway.accountId);
    })
    .toContain('$tb');
  expect((await ask(gateway)).status).toBe(529);
  store.setMetadata(stream, {});
  isAway = false;
  await expect.poll(async () => (await ask(gateway)).status).toBe(200);
});
