import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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

/** And in a provider's report. */
const COMPARISON = BLOCKS.flatMap((block) => block.match(SQL) ?? []).find((sql) => sql.includes('usage.csv')) ?? '';

/** What the answer to a query is, once the guide's SQL has been carried out in a folder that has these files. */
async function answered(sql: string, files: Readonly<Record<string, string>>, query: string): Promise<unknown> {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const here = sql.replaceAll(/'(?:exported\/)?(\w+\.(?:csv|ndjson))'/g, (_, name) => `'${join(folder, name)}'`);
  const connection = await (await DuckDBInstance.create()).connect();
  const statements = await connection.extractStatements(here);
  for (let at = 0; at < statements.count; at++) await (await statements.prepare(at)).run();
  const reader = await connection.runAndReadAll(query);
  connection.closeSync();
  return reader.getRowObjectsJson();
}

const faultsIn = async (lines: readonly string[]): Promise<Fault[]> =>
  (await answered(
    CHECKS,
    { 'events.ndjson': lines.join('') },
    'SELECT what, stream, revision FROM fault ORDER BY ALL',
  )) as Fault[];

async function catalogLines(spoil = (data: string): string => data): Promise<string[]> {
  const log = new MemoryEventLog();
  await publishCards(log, spoil);
  return log.events.map(exactEventLine);
}

/**
 * The life as another account has it, with requests of its own, whose ids say when they began.
 * @param whole the same before something was done to it
 */
function lifeOf(account: number, events: readonly RecordedEvent[], whole = events): string[] {
  const times = new Map<string, string>();
  for (const { type, data } of whole) {
    if (type !== 'UsageRecorded') continue;
    const { requestId, startedAt } = JSON.parse(data);
    times.set(requestId, Date.parse(startedAt).toString(16).padStart(12, '0'));
  }
  const own = `7${account.toString(16).padStart(3, '0')}`;
  return events.map((event) =>
    exactEventLine(event)
      .replace('"account-acme"', `"account-${account}"`)
      .replaceAll(/req_[0-9a-f]{32}/g, (id) => `req_${times.get(id)}${own}${id.slice(20)}`),
  );
}

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
  [
    'a usage began an hour before it was asked for',
    inData('UsageRecorded', /"startedAt":"2026-11-06T12:00/, '"startedAt":"2026-11-06T10:59'),
    ['time'],
  ],
  [
    'a usage began an hour after it was asked for',
    inData('UsageRecorded', /"startedAt":"2026-11-06T12:00/, '"startedAt":"2026-11-06T13:01'),
    ['time'],
  ],
  [
    'a request’s id says nothing of when',
    (events) => events.map((event) => ({ ...event, data: event.data.replaceAll(/"req_.{8}/g, '"req_????????') })),
    ['time'],
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
  const lines = [whole, ...DAMAGES.map(([, spoil]) => spoil([...whole]))].flatMap((events, at) =>
    lifeOf(at, events, whole),
  );
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

describe('the guide’s comparison with a provider’s report', () => {
  /** Its requests by the last figure of our ids: of the third the crash has left nothing, and it is reported late. */
  const ROWS = ['r1,1,7,0,0,0', 'r2,2,3,0,0,0', 'r3,3,9,0,0,0', 'r4,4,30,0,1000000,3', 'r5,5,4000,0,0,0'];
  const HEAD = 'request_id,input_tokens,output_tokens,cache_read_input_tokens,cache_creation_5m_input_tokens';
  const events = lifeOf(0, storedLife(lifeOfExceptions())).map((line) =>
    line
      .replace('"requestId":null', `"requestId":"r${/req_[0-9a-f]{31}(.)/.exec(line)?.[1]}"`)
      .replace(/("requestId":"r(.)".*"input":)0/, '$1$2')
      .replace(/("requestId":")r3("[^}]*\},"tokens":\{"input":)3(,"output":0)/, '$1r3$20$3'),
  );

  const compared = (rows: readonly string[], month = '2026-11') =>
    answered(
      CHECKS + COMPARISON.replace("= 'test'", "= 'mock'").replaceAll('2026-11', month),
      { 'events.ndjson': events.join(''), 'usage.csv': `${HEAD},cache_creation_1h_input_tokens\n${rows.join('\n')}\n` },
      'SELECT request_id AS id, ours, theirs, source FROM compared ORDER BY ALL',
    );

  it('has nothing to say where both have counted the same', async () => {
    expect(await compared(ROWS)).toEqual([]);
  });

  it.each([
    ['input', '4,30,0,1000000,3', '5,30,0,1000000,3'],
    ['output', '4,30,0,1000000,3', '4,31,0,1000000,3'],
    ['reads of a cache', '4,30,0,1000000,3', '4,30,1,1000000,3'],
    ['cache writes', '4,30,0,1000000,3', '4,30,0,1000001,3'],
    ['cache writes for an hour', '4,30,0,1000000,3', '4,30,0,1000000,2'],
  ])('finds other %s', async (_what, ours, theirs) => {
    const rows = ROWS.map((row) => row.replace(`r4,${ours}`, `r4,${theirs}`));
    expect(await compared(rows)).toEqual([
      { id: 'r4', ours: ours.split(','), theirs: theirs.split(','), source: 'reported' },
    ]);
  });

  it('finds what one side alone has, and what is estimated as that', async () => {
    expect(await compared([...ROWS.slice(2), 'r9,0,1,0,0,0'])).toEqual([
      { id: 'r1', ours: ['1', '7', '0', '0', '0'], theirs: null, source: 'reported' },
      { id: 'r2', ours: ['2', '3', '0', '0', '0'], theirs: null, source: 'estimated' },
      { id: 'r9', ours: null, theirs: ['0', '1', '0', '0', '0'], source: null },
    ]);
  });

  it('asks a report for the requests of its month alone', async () => {
    expect(await compared(ROWS.slice(4), '2026-10')).toEqual([]);
  });
});
