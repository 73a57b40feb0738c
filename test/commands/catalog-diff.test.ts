import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { DomainEvent, UsageRecorded } from '../../contracts/events.ts';
import { accountId, accountStream, commandId, NO_STREAM, uuidV7 } from '../../contracts/ids.ts';
import { picoUsd, rate } from '../../contracts/money.ts';
import { rateCard } from '../../contracts/rate-card.ts';
import { cardsOf, loadCatalog } from '../../ledger/catalog/catalog-state.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, TEST_CATALOG } from '../fixtures/gateway/start-gateway.ts';
import { usageOf } from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';

const LONG = 'context-1m-2025-08-07';
const model = (id: string, input: string, output: string, more: object = {}) =>
  catalogEntry(id, { price: { input, output }, upstreams: [{ provider: 'mock', model: 'x' }], ...more });
const long = (input: string, output: string) => ({
  betas: ['shipped', { name: LONG, context_window: 1_000_000, price: { input, output } }],
});

const FIRST = [model('opal-medium', '2.00', '10.00'), model('opal-gone', '1.00', '1.00')];
const IN_FORCE = [
  model('opal-medium', '3.00', '15.00', long('6.00', '20.00')),
  model('opal-gone', '1.00', '1.00'),
  model('opal-fast', '1.00', '5.00', { lanes: ['standard', 'fast'] }),
];
const NEXT = [
  model('opal-medium', '4.00', '10.00', { betas: ['shipped', LONG], context_window: 300_000 }),
  model('opal-fast', '1.00', '5.50', { lanes: ['standard', 'fast'] }),
  model('opal-new', '9.00', '9.00'),
];

const fileOf = (models: readonly object[]): string => {
  const file = join(temporaryFolder(), 'catalog.json');
  writeFileSync(file, JSON.stringify({ models }));
  return file;
};

const publishedAt = async (program: ProgramInProcess, time: string, models: readonly object[]): Promise<void> => {
  program.clock = () => Date.parse(time);
  await program.run('catalog', 'publish', fileOf(models), '--trust-clock');
};

let requests = 0;

/** A request as it is recorded: billed by the newest card of that name. */
async function used(program: ProgramInProcess, account: string, card: string, more: Partial<UsageRecorded>) {
  const { models } = await loadCatalog(program.log);
  const [of = ''] = card.split('+');
  const found = [...models.values()].flatMap(cardsOf).find(({ id }) => id === card);
  const { id, version, hash } = found ?? rateCard('none', 1, NO_RATES, null);
  const usage = usageOf(++requests, 1, {
    tokens: { input: 1_000, output: 100, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 },
    ...{ model: of, rateCard: { id, version, hash }, ...more },
  });
  await written(program, account, { type: 'UsageRecorded', data: usage });
  return usage;
}

async function written(program: ProgramInProcess, account: string, event: DomainEvent): Promise<void> {
  const recording = {
    commandId: commandId(uuidV7(Date.now(), randomBytes(10))),
    ...{ actor: 'test', recordedAt: '2026-11-05T10:20:31.001Z' },
  };
  const stream = accountStream(accountId(account));
  let expected = NO_STREAM;
  for await (const { revision } of program.log.readStream(stream)) expected = revision;
  await program.log.append(stream, expected, encodeEvents([event], recording));
}

const FREE = rate(0n);
const NO_RATES = { input: FREE, output: FREE, cacheRead: FREE, cacheWrite5m: FREE, cacheWrite1h: FREE };
const NOVEMBER = { startedAt: '2026-11-30T23:59:59.999Z', finishedAt: '2026-12-01T00:10:00.000Z' };
const OTHER_MONTHS = [
  { startedAt: '2026-10-31T23:59:59.999Z', finishedAt: '2026-11-01T00:10:00.000Z' },
  { startedAt: '2026-12-01T00:00:00.000Z', finishedAt: '2026-12-01T00:10:00.000Z' },
];

async function scene(program: ProgramInProcess): Promise<void> {
  await publishedAt(program, '2026-11-01T00:00:00Z', FIRST);
  await used(program, 'acct_a', 'opal-medium', NOVEMBER);
  await publishedAt(program, '2026-11-15T00:00:00Z', IN_FORCE);
  await used(program, 'acct_a', 'opal-medium', NOVEMBER);
  await used(program, 'acct_b', `opal-medium+${LONG}`, NOVEMBER);
  await used(program, 'acct_b', 'opal-gone', NOVEMBER);
  await used(program, 'acct_c', 'opal-fast', { ...NOVEMBER, lane: 'fast' });
  await used(program, 'acct_c', 'opal-fast', { ...NOVEMBER, billable: false });
  for (const month of OTHER_MONTHS) await used(program, 'acct_c', 'opal-fast', month);
  program.clock = () => Date.parse('2026-12-15T00:00:00Z');
}

const pico = (micro: number): string => String(BigInt(micro) * 1_000_000n);
const costs = (
  byItsCards: number,
  inForce: number,
  next: number,
  counts: { requests: number; notCompared?: number; noPrice?: number },
) => ({
  ...{ requests: counts.requests, notCompared: counts.notCompared ?? 0, noPrice: counts.noPrice ?? 0 },
  // Nothing of this was debited: its usage alone was written down.
  ...{
    debitedMicroUsd: '0',
    byItsCardsPicoUsd: pico(byItsCards),
    inForcePicoUsd: pico(inForce),
    nextPicoUsd: pico(next),
  },
  differencePicoUsd: pico(next - inForce),
});

describe.each([
  ['the embedded log', () => programInProcess()],
  [
    'an event store',
    async () => {
      const { connectionString } = endedLater(await startFakeEventStore());
      return programInProcess(await openEventStoreDbEventLog({ connectionString }));
    },
  ],
])('over %s', (_name, open) => {
  it('a catalog file is compared before it is published: fields, and the last month’s usage rated by it, exactly', async () => {
    const program = await open();
    onTestFinished(() => program.close());
    await scene(program);
    const before = (await loadCatalog(program.log)).revision;
    const diff = await program.json('catalog', 'diff', fileOf(NEXT));
    expect(diff).toMatchObject({ version: 2, nextVersion: 3, month: '2026-11' });
    // Micro-USD by hand: tokens times USD per million; 1,000 of input and 100 of output.
    expect(diff.models).toEqual([
      { model: 'opal-medium', ...costs(3_000 + 4_500 + 8_000, 4_500 + 4_500 + 8_000, 3 * 5_000, { requests: 3 }) },
      { model: 'opal-fast', ...costs(2 * 1_500, 2 * 1_500, 2 * 1_550, { requests: 1 }) },
      { model: 'opal-gone', ...costs(1_100, 0, 0, { requests: 1, notCompared: 1 }) },
    ]);
    expect(diff.total).toEqual(
      costs(15_500 + 3_000 + 1_100, 17_000 + 3_000, 15_000 + 3_100, { requests: 5, notCompared: 1 }),
    );
    expect(diff.accounts).toEqual([
      { accountId: 'acct_b', ...costs(8_000 + 1_100, 8_000, 5_000, { requests: 2, notCompared: 1 }) },
      { accountId: 'acct_a', ...costs(7_500, 9_000, 10_000, { requests: 2 }) },
      { accountId: 'acct_c', ...costs(3_000, 3_000, 3_100, { requests: 1 }) },
    ]);
    const october = await program.json('catalog', 'diff', fileOf(NEXT), '--month', '2026-10');
    expect(october.total).toMatchObject({ requests: 1 });
    expect((await loadCatalog(program.log)).revision).toBe(before);
  });

  it('the history has each catalog with its time, its actor and what it changed, and prices as they were', async () => {
    const program = await open();
    onTestFinished(() => program.close());
    await scene(program);
    const history = (await program.json('catalog', 'history')) as unknown as Record<string, unknown>[];
    const { hash } = await loadCatalog(program.log);
    expect(history).toMatchObject([
      { version: 1, publishedAt: '2026-11-01T00:00:00.000Z', actor: 'operator' },
      { version: 2, publishedAt: '2026-11-15T00:00:00.000Z', actor: 'operator', hash },
    ]);
    expect(
      history.map(({ changes }) =>
        (changes as { model: string; change: string }[]).map((one) => [one.model, one.change]),
      ),
    ).toEqual([
      [
        ['opal-gone', 'added'],
        ['opal-medium', 'added'],
      ],
      [
        ['opal-fast', 'added'],
        ['opal-medium', 'changed'],
      ],
    ]);
    expect(await program.json('catalog', 'history', 'opal-fast')).toMatchObject([
      { version: 2, changes: [{ model: 'opal-fast' }] },
    ]);
    const at = (time: string) => program.json('catalog', 'history', 'opal-medium', '--at', time);
    const price = async (time: string) => {
      const { version, models } = (await at(time)) as unknown as {
        version: number;
        models: { rateCard: { rates: { input: string } } }[];
      };
      return [version, models.map(({ rateCard }) => rateCard.rates.input)];
    };
    expect(await price('2026-11-14T23:59:59.999Z')).toEqual([1, ['2000000']]);
    expect(await price('2026-11-15')).toEqual([2, ['3000000']]);
    await expect(at('2026-10-31')).rejects.toThrow('no catalog was published by 2026-10-31T00:00:00.000Z');
    await expect(program.run('catalog', 'history', 'opal-mediun')).rejects.toThrow('(is opal-medium meant?)');
    expect(await program.run('catalog', 'history')).toMatch(
      /^version 2 \([0-9a-f]{12}\), 2026-11-15T00:00:00\.000Z, operator$/m,
    );
  });
});

it('what changes of a model is told field by field, with prices side by side, for people and for programs', async () => {
  const program = endedLater(await programInProcess());
  await scene(program);
  const { changes } = await program.json('catalog', 'diff', fileOf(NEXT));
  const of = (name: string) => (changes as { model: string }[]).find(({ model }) => model === name);
  expect(of('opal-medium')).toMatchObject({
    change: 'changed',
    fields: [
      { field: 'price.input', from: '3.00', to: '4.00' },
      { field: 'price.output', from: '15.00', to: '10.00' },
      { field: 'price.cacheRead', from: '0.30', to: '0.40' },
      { field: 'price.cacheWrite5m', from: '3.75', to: '5.00' },
      { field: 'price.cacheWrite1h', from: '6.00', to: '8.00' },
      { field: 'context_window', from: '200000', to: '300000' },
      { field: `betas.${LONG}.context_window`, from: '1000000', to: null },
      { field: `betas.${LONG}.price.input`, from: '6.00', to: null },
      { field: `betas.${LONG}.price.output`, from: '20.00', to: null },
      ...Array.from({ length: 3 }, () => ({ to: null })),
    ],
  });
  expect([of('opal-gone'), of('opal-new')]).toMatchObject([{ change: 'removed' }, { change: 'added' }]);
  expect(of('opal-fast')).toMatchObject({ fields: [{ field: 'price.output', from: '5.00', to: '5.50' }] });
  const text = await program.run('catalog', 'diff', fileOf(NEXT));
  expect(text).toMatch(/^opal-medium +price\.input +3\.000000 +4\.000000$/m);
  expect(text).toMatch(/^opal-gone +removed/m);
  expect(text).toMatch(
    /^opal-medium +3 +0 +0\.000000 +0\.015500000000 +0\.017000000000 +0\.015000000000 +-0\.002000000000$/m,
  );
  expect(text).toMatch(/^all +5 +1 +0\.000000 +0\.019600000000 /m);
  const same = await program.json('catalog', 'diff', fileOf(IN_FORCE));
  expect(same).toEqual({ version: 2, nextVersion: null, changes: [] });
});

it('usage that names a card that the catalog never had ends it: no sum is shown that leaves something out', async () => {
  const program = endedLater(await programInProcess());
  await scene(program);
  await used(program, 'acct_a', 'opal-unknown', NOVEMBER);
  await expect(program.run('catalog', 'diff', fileOf(NEXT))).rejects.toThrow('the catalog has no rate card');
});

it('a use that one of the catalogs has no price for is not free by it: its requests are counted, and not compared', async () => {
  const program = endedLater(await programInProcess());
  const searching = (uses: object) => [
    model('opal-medium', '2.00', '10.00', { price: { input: '2.00', output: '10.00', uses } }),
  ];
  await publishedAt(program, '2026-11-01T00:00:00Z', searching({ web_search_requests: '0.01' }));
  await used(program, 'acct_a', 'opal-medium', { ...NOVEMBER, uses: { web_search_requests: 2 } });
  await used(program, 'acct_a', 'opal-medium', NOVEMBER);
  program.clock = () => Date.parse('2026-12-15T00:00:00Z');
  const diff = async (uses: object) => (await program.json('catalog', 'diff', fileOf(searching(uses)))).total;
  expect(await diff({})).toEqual(costs(26_000, 3_000, 3_000, { requests: 2, notCompared: 1, noPrice: 1 }));
  expect(await diff({ web_search_requests: '0.02' })).toEqual(costs(26_000, 26_000, 46_000, { requests: 2 }));
  expect(await program.run('catalog', 'diff', fileOf(searching({})))).toMatch(
    /requests +not compared +no price +debited USD/,
  );
});

it('a use that only the file has a price for is compared by nothing either: what is in force would refuse it', async () => {
  const program = endedLater(await programInProcess());
  const searching = (uses: object) => [
    model('opal-medium', '2.00', '10.00', { price: { input: '2.00', output: '10.00', uses } }),
  ];
  await publishedAt(program, '2026-11-01T00:00:00Z', searching({}));
  await used(program, 'acct_a', 'opal-medium', { ...NOVEMBER, uses: { web_search_requests: 2 } });
  await used(program, 'acct_a', 'opal-medium', NOVEMBER);
  program.clock = () => Date.parse('2026-12-15T00:00:00Z');
  const { total } = await program.json('catalog', 'diff', fileOf(searching({ web_search_requests: '0.02' })));
  expect(total).toEqual(costs(6_000, 3_000, 3_000, { requests: 2, notCompared: 1, noPrice: 1 }));
});

it('what needs no price is compared: a use that its provider gives for nothing, and each of a model that is free', async () => {
  const program = endedLater(await programInProcess());
  const free = (id: string) => model(id, '0', '0', { price: undefined, free: true });
  await publishedAt(program, '2026-11-01T00:00:00Z', [model('opal-medium', '2.00', '10.00'), free('opal-fast')]);
  await used(program, 'acct_a', 'opal-medium', {
    ...NOVEMBER,
    uses: { web_fetch_requests: 2, tool_search_requests: 1 },
  });
  await used(program, 'acct_a', 'opal-fast', { ...NOVEMBER, uses: { web_search_requests: 2 } });
  program.clock = () => Date.parse('2026-12-15T00:00:00Z');
  const diff = async (...models: object[]) => (await program.json('catalog', 'diff', fileOf(models))).total;
  expect(await diff(model('opal-medium', '4.00', '20.00'), free('opal-fast'))).toEqual(
    costs(3_000, 3_000, 6_000, { requests: 2 }),
  );
  const price = { input: '2.00', output: '10.00', uses: { web_search_requests: '0.01' } };
  expect(await diff(free('opal-medium'), model('opal-fast', '2.00', '10.00', { price }))).toEqual(
    costs(3_000, 3_000, 23_000, { requests: 2 }),
  );
  expect(await diff(free('opal-medium'), model('opal-fast', '2.00', '10.00'))).toEqual(
    costs(3_000, 3_000, 0, { requests: 2, notCompared: 1, noPrice: 1 }),
  );
});

it('usage that came late, after its request was recorded as recovered, is rated as what it is', async () => {
  const program = endedLater(await programInProcess());
  await scene(program);
  const usage = await used(program, 'acct_a', 'opal-medium', { ...NOVEMBER, billable: false, outcome: 'recovered' });
  const late = { ...usage, billable: true, outcome: 'completed' } as const;
  const { requestId } = usage;
  const data = { requestId, usage: late, cost: picoUsd(4_500_000_000n), lines: [], uses: [] };
  await written(program, 'acct_a', { type: 'LateUsageReported', data });
  const { total } = await program.json('catalog', 'diff', fileOf(NEXT));
  expect(total).toEqual(costs(19_600 + 4_500, 20_000 + 4_500, 18_100 + 5_000, { requests: 6, notCompared: 1 }));
});

it('what was debited is told beside what rates make of the same usage: a hold leaves out, an approval takes, a reversal gives back', async () => {
  const upstream = endedLater(await startUpstream());
  const gateway = await startTestGateway({ upstreamUrl: upstream.url });
  const ask = async (output: number): Promise<string> => {
    upstream.answerWith(json(message({ tokens: { input: 1_000, output } })));
    return String((await post(gateway, '/v1/messages', asking('opal-medium'))).headers['request-id']);
  };
  // At 3 and 15 USD per million.
  const paid = await ask(50);
  const reversed = await ask(60);
  const [approved, open] = [await ask(100_000), await ask(200_000)];
  await gateway.gateway.process.settlement.idle();
  await gateway.stop();
  const of = ['--account', gateway.accountId, '--reason', 'test', '--data', gateway.data];
  for (const args of [
    ['ledger', 'forms', '--adopt', '--data', gateway.data],
    ['debit', 'reverse', reversed, ...of],
    ['exception', 'approve', approved, ...of],
  ])
    expect(await runHere(...args)).toMatchObject({ exitCode: 0, stderr: '' });
  const [rated, cost] = [[paid, reversed, approved, open], (output: number) => 3_000 + 15 * output];
  const byCards = cost(50) + cost(60) + cost(100_000) + cost(200_000);
  const { balance } = await runHereForJson('account', 'show', gateway.accountId, '--data', gateway.data);
  const debited = 1_000_000_000n - BigInt(String(balance));
  // Of the last what its hold let be debited.
  expect(debited).toBeGreaterThan(cost(50) + cost(100_000));
  expect(debited).toBeLessThan(cost(50) + cost(100_000) + cost(200_000) / 2);
  const models = TEST_CATALOG.models.map((one) =>
    one.id === 'opal-medium' ? { ...one, price: { input: '6.00', output: '30.00' } } : one,
  );
  const file = fileOf(models);
  const month = new Date().toISOString().slice(0, 7);
  const config = ['--config', join(gateway.data, 'gateway.json')];
  const diff = await runHereForJson('catalog', 'diff', file, '--month', month, ...config);
  const sums = {
    ...costs(byCards, byCards, 2 * byCards, { requests: rated.length }),
    debitedMicroUsd: String(debited),
  };
  expect(diff).toMatchObject({ total: sums, models: [sums], accounts: [sums] });
  const { stdout } = await runHere('catalog', 'diff', file, '--month', month, ...config);
  expect(stdout).toMatch(/model +requests +not compared +debited USD +by its cards +in force +by the file +difference/);
});
