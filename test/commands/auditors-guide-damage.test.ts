import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { exactEventLine } from '../../ledger/export/exact-event-line.ts';
import { lifeOfExceptions, publishCards } from '../fixtures/ledger/life-of-exceptions.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { live, lives, PRICE_CARD } from '../fixtures/ledger/random-life.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { storedLife } from '../ledger/statement/stored-life.ts';
import { BLOCKS, SQL } from './auditors-guide.ts';

/** What the guide has DuckDB look for in an export, all of it before the month's totals. */
const CHECKS = BLOCKS.flatMap((block) => block.match(SQL) ?? [])
  .slice(0, 4)
  .join('');

interface Fault {
  readonly what: string;
  readonly stream: string;
  readonly revision: string | null;
}

async function faultsIn(lines: readonly string[]): Promise<Fault[]> {
  const folder = temporaryFolder();
  const file = join(folder, 'events.ndjson');
  writeFileSync(file, lines.join(''));
  const sql = CHECKS.replace('exported/events.ndjson', file).replace('faults.csv', join(folder, 'faults.csv'));
  const connection = await (await DuckDBInstance.create()).connect();
  const statements = await connection.extractStatements(sql);
  for (let at = 0; at < statements.count; at++) await (await statements.prepare(at)).run();
  const reader = await connection.runAndReadAll('SELECT what, stream, revision FROM fault ORDER BY ALL');
  connection.closeSync();
  return reader.getRowObjectsJson() as unknown as Fault[];
}

async function catalogLines(spoil = (data: string): string => data): Promise<string[]> {
  const log = new MemoryEventLog();
  await publishCards(log, spoil);
  return log.events.map(exactEventLine);
}

/** The life as another account has it, with requests of its own. */
const lifeOf = (account: number, events: readonly RecordedEvent[]): string[] =>
  events.map((event) =>
    exactEventLine(event)
      .replace('"account-acme"', `"account-${account}"`)
      .replaceAll('req_019a5b3c', `req_${String(account).padStart(8, '0')}`),
  );

type Spoil = (events: RecordedEvent[]) => readonly RecordedEvent[];
/** In the events of a type. */
const inData =
  (type: string, from: string | RegExp, to: string): Spoil =>
  (events) =>
    events.map((event) => (event.type === type ? { ...event, data: event.data.replace(from, to) } : event));
const renumbered = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.map((event, at) => ({ ...event, revision: at as RecordedEvent['revision'] }));

/** A kind of damage, and what the guide calls it. */
const DAMAGES: readonly (readonly [what: string, spoil: Spoil, faults: readonly string[]])[] = [
  ['an event is gone', (events) => events.filter(({ revision }) => revision !== 2), ['revision']],
  ['tokens are others', inData('UsageRecorded', '"output":7', '"output":8'), ['cost', 'line']],
  ['a cost is another', inData('CreditsDebited', '"cost":"7000000","c', '"cost":"6000000","c'), ['cost']],
  ['a rate is another', inData('CreditsDebited', '"rate":"1000000"', '"rate":"900000"'), ['line']],
  ['a line is gone', inData('CreditsDebited', /"lines":\[\{[^}]*\},/, '"lines":['), ['line']],
  [
    'the fast lane is doubled twice',
    inData('CreditsDebited', '"rate":"2000000","cost":"60000000"', '"rate":"4000000","cost":"120000000"'),
    ['line'],
  ],
  [
    'a debit is more',
    inData('CreditsDebited', '"amount":"2","leftOut"', '"amount":"3","leftOut"'),
    ['rounding', 'hold', 'balance', 'shares'],
  ],
  ['a carry is dropped', inData('CreditsDebited', '"carryAfter":"240"', '"carryAfter":"0"'), ['rounding']],
  [
    'a carry comes from nowhere',
    inData('CreditsDebited', /"carryBefore":"0"(?=,"carryAfter":"0","amount":"2")/, '"carryBefore":"9"'),
    ['carry'],
  ],
  [
    'a rate card is another',
    inData('UsageRecorded', /"hash":"[0-9a-f]{4}/, '"hash":"0000'),
    ['no such rate card', 'cost', 'line'],
  ],
  [
    'a debit is gone',
    (events) => renumbered(events.filter(({ type }) => type !== 'CreditsDebited')),
    ['cost', 'approved'],
  ],
  [
    'a debit stands twice',
    (events) => renumbered(events.flatMap((event) => (event.type === 'CreditsDebited' ? [event, event] : [event]))),
    ['more than once', 'balance'],
  ],
  ['a usage is gone', (events) => renumbered(events.filter(({ type }) => type !== 'UsageRecorded')), ['cost', 'line']],
  ['a hold was less', inData('UsageRecorded', '"hold":"2"', '"hold":"1"'), ['hold']],
  [
    'an approval is more',
    inData('ExceptionApproved', '"cost":"5000000"', '"cost":"5000001"'),
    ['approved', 'rounding'],
  ],
  ['a balance is another', inData('ExceptionApproved', '"balanceAfter":"53"', '"balanceAfter":"54"'), ['balance']],
  [
    'a share is less',
    inData('CreditsDebited', '"grantId":"gift","amount":"2"', '"grantId":"gift","amount":"1"'),
    ['shares'],
  ],
  [
    'another grant pays',
    inData('CreditsDebited', '"grantId":"gift","amount":"2"', '"grantId":"gone","amount":"2"'),
    ['grant gone'],
  ],
  ['a grant was less', inData('CreditsGranted', '"amount":"60"', '"amount":"40"'), ['balance', 'grant gift']],
  ['a late report costs more', inData('LateUsageReported', '"cost":"9000000","l', '"cost":"9000001","l'), ['cost']],
  [
    'a usage is another model’s',
    inData('UsageRecorded', /"model":"[^"]*"/, '"model":"another"'),
    ['card of another model or time'],
  ],
  [
    'a usage began long before its card',
    inData('UsageRecorded', /"startedAt":"2/, '"startedAt":"1'),
    ['card of another model or time'],
  ],
  ['what was left is not billed', inData('UsageRecorded', '"billable":true', '"billable":false'), ['outcome', 'cost']],
  [
    'what was refused is billed',
    inData('UsageRecorded', '"outcome":"client_disconnected"', '"outcome":"upstream_refused"'),
    ['outcome'],
  ],
  [
    'a usage is no object',
    (events) => events.map((event) => (event.type === 'UsageRecorded' ? { ...event, data: `${event.data} ` } : event)),
    ['no object', 'cost'],
  ],
];

it('the guide’s checks find every kind of damage to an account, and nothing amiss with one that has none', async () => {
  const whole = storedLife(lifeOfExceptions());
  const lines = [whole, ...DAMAGES.map(([, spoil]) => spoil([...whole]))].flatMap((events, at) => lifeOf(at, events));
  const faults = Map.groupBy(await faultsIn([...(await catalogLines()), ...lines]), ({ stream }) => stream);
  expect(faults.get('account-0')).toBeUndefined();
  for (const [at, [what, , due]] of DAMAGES.entries()) {
    const found = new Set(faults.get(`account-${at + 1}`)?.map((fault) => fault.what));
    expect([what, [...found].filter((one) => due.includes(one)).toSorted()]).toEqual([what, due.toSorted()]);
  }
});

it('the guide’s checks take an answer that its provider broke off as billed or not', async () => {
  const broken = inData('UsageRecorded', '"outcome":"client_disconnected"', '"outcome":"upstream_interrupted"');
  const life = lifeOf(0, broken([...storedLife(lifeOfExceptions())]));
  expect(life.join('')).toContain('"outcome":"upstream_interrupted"');
  expect(await faultsIn([...(await catalogLines()), ...life])).toEqual([]);
});

it.each([
  ['an hour', '2026-11-06T11:00:00.000Z', ['card of another model or time']],
  ['less', '2026-11-06T11:00:00.001Z', []],
])(
  'the guide’s checks find requests by a card that was replaced %s before they began',
  async (_when, publishedAt, due) => {
    const [first = '{}'] = await catalogLines();
    const { data, ...catalog } = JSON.parse(first);
    const second = { ...catalog, revision: catalog.revision + 1, data: { ...data, publishedAt, models: [] } };
    const faults = await faultsIn([first, `${JSON.stringify(second)}\n`, ...lifeOf(0, storedLife(lifeOfExceptions()))]);
    expect([...new Set(faults.map(({ what }) => what))]).toEqual(due);
  },
);

it('the guide’s checks find a rate card that was altered', async () => {
  const spoilt = await catalogLines((data) => data.replace('"output":"1000000"', '"output":"900000"'));
  const faults = await faultsIn([...spoilt, ...lifeOf(0, storedLife(lifeOfExceptions()))]);
  expect(new Set(faults.map(({ what }) => what))).toEqual(new Set(['rate card', 'cost', 'line']));
});

it('the guide’s checks find nothing amiss with whatever life an account has had', async () => {
  const all = fc.sample(lives, { numRuns: 100, seed: 14 }).flatMap((steps, at) => lifeOf(at, storedLife(live(steps))));
  const priced = (data: string): string => {
    const { models, ...rest } = JSON.parse(data);
    const [model] = models;
    const bigintAsText = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
    return JSON.stringify({ ...rest, models: [{ ...model, rateCard: PRICE_CARD }] }, bigintAsText);
  };
  expect(all.filter((line) => line.includes('"CreditsDebited"')).length).toBeGreaterThan(100);
  expect(await faultsIn([...(await catalogLines(priced)), ...all])).toEqual([]);
});
