import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, accountStream, commandId, eventId, grantId, revision } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { asideFolder } from '../../ledger/journal/aside-folder.ts';
import { readJournal } from '../../ledger/journal/recovery.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const OTHER = accountId('acct_other');
const BAD = { type: 'OrderPlaced', data: '{}', metadata: '{}' };

type Spoil = (log: EventLog, gateway: TestGateway) => Promise<void>;
/** Another program's event, in the account's stream. */
const spoil: Spoil = async (log, { gateway, accountId: id }) => {
  const at = gateway.process.projections.accounts.read(id).revision;
  await log.append(accountStream(id), at, [{ ...BAD, id: eventId(newId()) }]);
};

async function onMemory(): Promise<readonly [EventLog, Spoil]> {
  return [new MemoryEventLog(), spoil];
}

/** There it may be no text at all. */
async function onEventStore(): Promise<readonly [EventLog, Spoil]> {
  const store = endedLater(await startFakeEventStore());
  const log = endedLater(await openEventStoreDbEventLog({ connectionString: store.connectionString }));
  const binary = { contentType: 'application/octet-stream', data: Buffer.of(0xff), metadata: Buffer.of() };
  return [
    log,
    async (_, { gateway, accountId: id }) => {
      const at = gateway.process.projections.accounts.read(id).revision;
      store.log.append(accountStream(id), at, [{ id: eventId(newId()), type: 'Blob', ...binary }]);
    },
  ];
}

async function start(log: EventLog, data: string, logLines: string[] = []): Promise<TestGateway> {
  return endedLater(await startTestGateway({ log, data, logLines, settings: { metrics: { serve: { port: 0 } } } }));
}

const ask = (gateway: Pick<TestGateway, 'url' | 'key'>) => post(gateway, '/v1/messages', asking('svc-mock'));

describe.each([
  ['a log in memory', onMemory],
  ['an event store', onEventStore],
])('an account of %s with an event that cannot be read', (_, open) => {
  it('is refused and told, also from the first request of a restart on, and nobody else', async () => {
    const [log, spoilIt] = await open();
    const [data, lines] = [temporaryFolder(), [] as string[]];
    const gateway = await start(log, data, lines);
    const [trialGrantId, nowMs, email] = [grantId('grant_trial'), Date.now(), 'other@example.com'];
    const opening = { accountId: OTHER, kind: 'personal', email, trial: microUsd(0n), trialGrantId, nowMs } as const;
    await gateway.command({ type: 'OpenAccount', ...opening }, OTHER);
    const { key } = await gateway.issueKey({}, OTHER);
    const at = revision(gateway.gateway.process.projections.accounts.read(gateway.accountId).revision + 1);
    await spoilIt(log, gateway);
    await expect.poll(async () => (await ask(gateway)).status).toBe(529);
    const said = `account-acct_test revision ${at}`;
    expect((await ask(gateway)).text).toContain(`the account is set aside: ${said}`);
    expect((await ask({ url: gateway.url, key })).status).toBe(200);
    for (const path of ['/me', '/v1/models']) expect((await get(gateway, path)).status).toBe(529);
    expect((await call(gateway.gateway.metricsUrl ?? '', '/metrics')).text).toMatch(/^gateway_accounts_set_aside 1$/m);
    expect(lines.filter((line) => line.includes(said))).toHaveLength(1);
    expect((await call(gateway.url, '/readyz')).body).toEqual({ ok: true });

    const program = await programInProcess(log);
    const grant = ['credits', 'grant', gateway.accountId, '--usd', '1'];
    for (const command of [['account', 'show', gateway.accountId], grant, ['key', 'list', gateway.accountId]])
      await expect(program.run(...command)).rejects.toThrow(said);
    expect(await program.run('account', 'show', OTHER)).toContain('other@example.com');
    expect(await Array.fromAsync(log.readStream(accountStream(gateway.accountId)))).toHaveLength(at + 1);

    await gateway.stop();
    const again = await start(log, data);
    expect((await ask({ url: again.url, key: gateway.key })).text).toContain(said);
    expect((await ask({ url: again.url, key })).status).toBe(200);
  });
});

it('what its requests have used waits beside the journal, over a restart, too, and is settled by itself once it can be read', async () => {
  const log = new LogWithOutages();
  const data = temporaryFolder();
  const journal = journalFolder(data);
  const waiting = (folder: string): number => readJournal(folder).recovered.length;
  const gateway = await start(log, data);
  await log.goAway();
  for (const _ of [1, 2]) expect((await ask(gateway)).status).toBe(200);
  expect(waiting(journal)).toBe(2);
  const at = gateway.gateway.process.projections.accounts.read(gateway.accountId).revision;
  log.inner.write(accountStream(gateway.accountId), [{ ...BAD, id: eventId(newId()) }]);
  log.comeBack();
  await expect.poll(() => waiting(journal)).toBe(0);
  expect(waiting(asideFolder(journal))).toBe(2);
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  expect(text).toMatch(/^gateway_journal_open_requests 2$/m);
  expect(text).toMatch(/^gateway_journal_aside_bytes [1-9]/m);

  await gateway.stop();
  const second = await start(log, data);
  expect(second.gateway.process.projections.accounts.setAside.count).toBe(1);
  expect([waiting(journal), waiting(asideFolder(journal))]).toEqual([0, 2]);
  await second.stop();

  // A program that can read it: here the event has become one that can be.
  const recording = { commandId: commandId(newId()), actor: 'test', recordedAt: new Date().toISOString() };
  const [readable] = encodeEvents([exampleOf('PlanChanged')], recording);
  const spoilt = log.inner.events.find(({ type }) => type === BAD.type);
  Object.assign(spoilt ?? {}, { ...readable, id: spoilt?.id });
  const third = await start(log, data);
  const settled = (await third.events()).filter(({ type }) => type === 'UsageRecorded');
  expect([settled.length, third.gateway.process.projections.accounts.read(third.accountId).revision]).toEqual([
    2,
    at + 3,
  ]);
  await expect.poll(() => waiting(asideFolder(journal))).toBe(0);
  expect((await ask(third)).status).toBe(200);
});
