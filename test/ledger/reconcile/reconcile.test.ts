import { describe, expect, it } from 'vitest';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { UsageRecorded } from '../../../contracts/events.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { reconcile } from '../../../ledger/reconcile/reconcile.ts';
import { COLUMNS } from '../../../ledger/reconcile/report-columns.ts';
import { ReportError } from '../../../ledger/reconcile/report-error.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { CARD, opened } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { READMES } from '../../source-files.ts';
import { chunked, compared, inTurn, logOf, used } from './compared-report.ts';

const DAYS = [
  used('2026-11-05', { tokens: { input: 100, output: 7, cacheRead: 30 } }),
  used('2026-11-05', { tokens: { input: 11, cacheWrite5m: 4, cacheWrite1h: 5 }, lane: 'fast' }),
  used('2026-11-06', { tokens: { input: 1, output: 1 } }),
  used('2026-11-07', { tokens: { output: 900 } }),
  used('2026-11-05', { tokens: { input: 1_000_000 }, provider: 'other' }),
];

describe('a report by day', () => {
  const HEAD =
    'usage_date_utc,model_version,api_key,service_tier,usage_input_tokens_no_cache,usage_input_tokens_cache_read,' +
    'usage_input_tokens_cache_write_5m,usage_input_tokens_cache_write_1h,usage_output_tokens\n';

  it('is compared by day, model, tier and class: what matches, what differs, what one alone has', async () => {
    const report =
      `\ufeff${HEAD}2026-11-05,opal,"a ""key"", of one",standard,60,30,0,0,7\r\n2026-11-05,opal,another,standard,40,0,0,0,0\r\n` +
      '2026-11-05,opal,k,priority,11,0,4,6,0\r\n2026-11-06,opal,k,standard,1,0,0,0,0\r\n2026-11-06,pearl,k,batch,0,0,0,0,3\r\n';
    const events = logOf(DAYS.slice(0, 2), DAYS.slice(2));
    const result = await compared(report, events);
    expect(result).toMatchObject({
      by: 'day',
      ...{ from: '2026-11-05T00:00:00.000Z', to: '2026-11-07T00:00:00.000Z' },
      report: { rows: 5, outside: 0, withoutTokens: 0 },
      counts: { matched: 6, mismatched: 1, oursOnly: 1, theirsOnly: 1 },
      differences: [
        { kind: 'theirs only', day: '2026-11-06', model: 'pearl', tier: 'batch' },
        {
          kind: 'mismatch',
          day: '2026-11-05',
          tier: 'fast',
          tokens: [{ tokenClass: 'cacheWrite1h', ours: 5n, theirs: 6n }],
        },
        { kind: 'ours only', day: '2026-11-06', tokens: [{ tokenClass: 'output', ours: 1n, theirs: 0n }] },
      ],
    });
    expect(
      result.lines.map(({ model, tier, tokenClass, ours, theirs }) => [model, tier, tokenClass, ours, theirs]),
    ).toEqual([
      ['opal', 'fast', 'input', 11n, 11n],
      ['opal', 'fast', 'cacheWrite5m', 4n, 4n],
      ['opal', 'fast', 'cacheWrite1h', 5n, 6n],
      ['opal', 'fast', 'all', 20n, 21n],
      ['opal', 'standard', 'input', 101n, 101n],
      ['opal', 'standard', 'output', 8n, 7n],
      ['opal', 'standard', 'cacheRead', 30n, 30n],
      ['opal', 'standard', 'all', 139n, 138n],
      ['pearl', 'batch', 'output', 0n, 3n],
      ['pearl', 'batch', 'all', 0n, 3n],
    ]);
    // 11 x 20 + 4 x 25 + 5 x 40 pico-USD, twice for the fast lane.
    expect(result.lines[3]).toMatchObject({ oursAmount: 1_040n, theirsAmount: null });
  });

  it('leaves alone what lies outside the time that was asked for, on both sides', async () => {
    const report = `${HEAD}2026-11-05,opal,k,standard,1,1,1,1,1\n2026-11-06,opal,k,standard,1,0,0,0,1\n`;
    const result = await compared(report, logOf(DAYS), { from: '2026-11-06', to: '2026-11-07' });
    expect(result).toMatchObject({
      report: { rows: 2, outside: 1 },
      counts: { matched: 2, mismatched: 0, oursOnly: 0, theirsOnly: 0 },
    });
  });

  it('has of ours what began from its first instant on, up to before its last', async () => {
    const at = (startedAt: string) => used('2026-11-06', { startedAt, tokens: { output: 1 } });
    const events = logOf([at('2026-11-06T00:00:00.000Z'), at('2026-11-07T00:00:00.000Z')]);
    const report = 'date,model,output_tokens\n2026-11-06,opal,1\n';
    expect((await compared(report, events)).counts).toEqual({ matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 0 });
  });

  it('of an API is taken out of its pages and buckets, whole or by lines, and has cache writes of either form', async () => {
    const page = (hasMore: boolean, ...data: object[]): object => ({ data, has_more: hasMore, next_page: null });
    const bucket = (day: string, ...results: object[]): object => ({
      ...{ starting_at: `2026-11-${day}T00:00:00Z`, ending_at: `2026-11-${day}T23:00:00Z`, results },
    });
    const row = {
      ...{ model: 'opal', api_key_id: null, workspace_id: 'w', service_tier: 'standard', uncached_input_tokens: 100 },
      ...{ output_tokens: 7, cache_read_input_tokens: 30, server_tool_use: { web_search_requests: 0 } },
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    };
    const fast = {
      ...row,
      service_tier: 'priority',
      uncached_input_tokens: 11,
      output_tokens: 0,
      cache_read_input_tokens: 0,
    };
    const written = { ...fast, cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 } };
    const pages = [page(true, bucket('05', row)), page(false, bucket('05', written))];
    const expected = { counts: { matched: 6, mismatched: 0, oursOnly: 0, theirsOnly: 0 } };
    for (const report of [JSON.stringify(pages, null, 2), pages.map((one) => JSON.stringify(one)).join('\n')])
      expect(await compared(report, logOf(DAYS))).toMatchObject(expected);
    await expect(compared(JSON.stringify(pages[0]), logOf(DAYS))).rejects.toThrow(/has_more/);
  });

  it('of which one row alone says cache writes without how long they are has those of all rows as one class', async () => {
    const report =
      '{"date":"2026-11-05","model":"opal","input_tokens":11,"cache_creation_input_tokens":9,"service_tier":"priority",' +
      '"cache_creation":{"ephemeral_5m_input_tokens":4,"ephemeral_1h_input_tokens":5}}\n' +
      '{"date":"2026-11-05","model":"opal","output_tokens":7,"cache_creation_input_tokens":0,"service_tier":"standard"}\n' +
      '{"date":"2026-11-05","model":"opal","token_type":"cache_write_1h","cost_usd":0.5,"service_tier":"priority"}\n';
    const { classes, counts, lines } = await compared(report, logOf(DAYS.slice(0, 2)));
    expect([classes, counts.matched, counts.mismatched]).toEqual([['input', 'output', 'cacheWrite'], 3, 0]);
    const written = {
      tokenClass: 'cacheWrite',
      ours: 9n,
      theirs: 9n,
      oursAmount: 600n,
      theirsAmount: 500_000_000_000n,
    };
    expect(lines).toContainEqual({ model: 'opal', tier: 'fast', ...written });
  });

  it('that names input with what was read from a cache, and no tier, is read as what it means', async () => {
    const result = await compared(
      JSON.stringify({
        object: 'bucket',
        ...{
          start_time: Date.parse('2026-11-05T00:00:00Z') / 1_000,
          end_time: Date.parse('2026-11-06T00:00:00Z') / 1_000,
        },
        results: [
          { model: 'opal', input_tokens: 141, output_tokens: 7, input_cached_tokens: 30, num_model_requests: 2 },
        ],
      }),
      logOf(DAYS),
    );
    expect(result).toMatchObject({
      classes: ['input', 'output', 'cacheRead'],
      counts: { matched: 3, mismatched: 0, oursOnly: 0, theirsOnly: 0 },
      lines: [{ tier: 'all' }, {}, {}, { tokenClass: 'all', ours: 148n }],
    });
  });

  it('of costs alone has them beside ours, exactly, by class where it says so; what is not about tokens is left out', async () => {
    const result = await compared(
      'date,model,currency,token_type,cost_type,amount\n2026-11-05,opal,USD,uncached_input_tokens,tokens,0.0000123456\n' +
        '2026-11-05,opal,USD,output_tokens,tokens,-1.5e-7\n2026-11-05,opal,USD,,web_search,3\n',
      logOf(DAYS),
    );
    expect(result).toMatchObject({ classes: [], report: { rows: 3, withoutTokens: 1 } });
    expect(result.lines).toMatchObject([
      { tokenClass: 'input', ours: 111n, theirs: null, oursAmount: 2_440n, theirsAmount: 123_456n },
      { tokenClass: 'output', ours: 7n, theirs: null, oursAmount: 7_000_000n, theirsAmount: -1_500n },
      { tokenClass: 'all', theirs: null, theirsAmount: 121_956n },
    ]);
  });
});

it('a row that names no tier is of the standard one where others name theirs, and is added to it', async () => {
  const rows = ['2026-11-05,opal,,60,1', '2026-11-05,opal,standard,40,2', '2026-11-05,opal,priority,11,4'];
  const result = await compared(
    `date,model,tier,input,cost\n${rows.join('\n')}`.replace('input,', 'uncached_input_tokens,'),
    logOf(DAYS),
  );
  expect(result).toMatchObject({ counts: { matched: 2, mismatched: 0, oursOnly: 0, theirsOnly: 0 } });
  expect(result.lines.find(({ tier, tokenClass }) => tier === 'standard' && tokenClass === 'all')?.theirsAmount).toBe(
    3_000_000_000_000n,
  );
});

it('an amount of any size is read to its last digit, and never as a float', async () => {
  const row = '{"date":"2026-11-05","model":"o","output_tokens":1,"cost":12345678901234.123456789012}';
  expect((await compared(row, [])).lines).toMatchObject([{}, { theirsAmount: 12_345_678_901_234_123_456_789_012n }]);
});

describe('a report by request', () => {
  const REQUESTS = [
    used('2026-11-05', { id: 'r1', tokens: { input: 10, output: 5 } }),
    used('2026-11-05', { id: 'r2', tokens: { input: 10, output: 5 } }),
    used('2026-11-06', { id: 'r3', tokens: { input: 10 } }),
    used('2026-11-06', { id: null, tokens: { output: 2 } }),
    used('2026-11-06', { id: 'r5', outcome: 'upstream_refused', billable: false }),
    used('2026-11-08', { id: 'r6', tokens: { output: 2 } }),
  ];
  const report =
    'generation_id;created_at;model;input_tokens;output_tokens;total_cost\nr1;2026-11-05 12:00:00.5;opal-dated;10;5;0.000002\n' +
    'r2;2026-11-05T12:00:00Z;opal;10;50;0\nr9;2026-11-06T12:00:00Z;opal;1;1;\n';

  it('is compared request by request, under our names, and what used nothing is nobody’s difference', async () => {
    const result = await compared(report, logOf(REQUESTS.slice(0, 3), REQUESTS.slice(3)));
    expect(result).toMatchObject({
      by: 'request',
      ...{ from: '2026-11-05T00:00:00.000Z', to: '2026-11-07T00:00:00.000Z' },
      counts: { matched: 1, mismatched: 1, oursOnly: 2, theirsOnly: 1 },
    });
    expect(result.differences.map(({ kind, requestId }) => [kind, requestId])).toEqual([
      ['mismatch', 'r2'],
      ['ours only', 'r3'],
      ['ours only', null],
      ['theirs only', 'r9'],
    ]);
    expect(result.differences[0]?.tokens).toEqual([{ tokenClass: 'output', ours: 5n, theirs: 50n }]);
    expect(result.lines.find(({ tokenClass, tier }) => tokenClass === 'all' && tier === 'standard')).toMatchObject({
      ...{ model: 'opal', ours: 42n, theirs: 75n, theirsAmount: 2_000_000n },
    });
  });

  it('without times needs to be told what it covers', async () => {
    const bare = 'request_id,output_tokens\nr6,2\n';
    await expect(compared(bare, logOf(REQUESTS))).rejects.toThrow('--from and --to');
    const asked = { from: '2026-11-08', to: '2026-11-09' };
    expect(await compared(bare, logOf(REQUESTS), asked)).toMatchObject({ counts: { matched: 1, oursOnly: 0 } });
  });

  it('has the usage that was reported late in place of what a crash has left', async () => {
    const recovered = used('2026-11-05', { id: 'r1', outcome: 'recovered', source: 'estimated', billable: false });
    const late: UsageRecorded = { ...recovered, outcome: 'completed', source: 'reported', billable: true };
    const first = recordUsage(fold([opened]) as never, recovered, CARD);
    const state = first.reduce(evolve, fold([opened]));
    const reported = decide(
      { type: 'ReportLateUsage', usage: { ...late, tokens: { ...NO_TOKENS, input: 10, output: 5 } }, card: CARD },
      state,
    );
    if ('type' in reported) throw new Error('refused');
    const result = await compared(report, logOf([...first, ...reported]));
    expect(result.counts).toEqual({ matched: 1, mismatched: 0, oursOnly: 0, theirsOnly: 2 });
  });

  it('of thousands of differences keeps the largest, and counts the others', async () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => `x${at},2026-11-05,opal,${at + 1}`);
    const result = await compared(`request_id,date,model,output_tokens\n${rows.join('\n')}`, [], { size: 1_000 });
    expect(result).toMatchObject({ counts: { theirsOnly: 1_000 }, differencesLeftOut: 900 });
    expect(result.differences.map(({ requestId }) => requestId)).toEqual(
      Array.from({ length: 100 }, (_, at) => `x${999 - at}`),
    );
  });
});

describe('what is no report that can be compared is refused in words that say what is amiss:', () => {
  const HEAD = 'date,model,input_tokens';
  it.each([
    ['nothing', '\n', /nothing in it/],
    [
      'an unknown column',
      `${HEAD},colour,size\n2026-11-05,opal,1,red,2\n`,
      /columns that are not known: "colour", "size"/,
    ],
    ['a row that is short', `${HEAD}\n2026-11-05,opal\n`, /cannot be read as CSV.*line 2/],
    ['no day', `${HEAD}\n2026-02-31,opal,1\n`, /no day/],
    ['a day of words', `${HEAD}\nyesterday,opal,1\n`, /line 2: "yesterday" is no day/],
    ['half a token', `${HEAD}\n2026-11-05,opal,1.5\n`, /line 2: input_tokens: "1.5" is no whole number/],
    ['fewer tokens than none', `${HEAD}\n2026-11-05,opal,-1\n`, /no whole number/],
    ['an amount of words', `date,model,cost\n2026-11-05,opal,much\n`, /"much" is no amount/],
    ['another currency', `date,model,cost,currency\n2026-11-05,opal,1,EUR\n`, /"EUR"; only USD/],
    [
      'an unknown class',
      `date,model,token_type,tokens\n2026-11-05,opal,thought,1\n`,
      /token_type "thought" is not known/,
    ],
    ['a hidden letter', `${HEAD}\n2026-11-05,op\u202eal,1\n`, /line 2: model: expected/],
    ['neither day nor request', 'model,output_tokens\nopal,1\n', /neither a request nor a day/],
    ['a week in a row', 'start_time,end_time,model,output_tokens\n1762300800,1762905600,o,1\n', /more than a day/],
    [
      'models now and then',
      'date,model,output_tokens\n2026-11-05,o,1\n2026-11-05,,1\n',
      /name a model, and some do not/,
    ],
    ['ids now and then', 'date,id,output_tokens\n2026-11-05,o,1\n2026-11-05,,1\n', /name a request, and some do not/],
    ['a year of five digits', 'date,model,output_tokens\n9999-12-31,o,1\n', /beyond the years 0001 to 9998/],
    ['a year below nought', 'date,model,output_tokens\n0000-01-01T00:00:00+14:00,o,1\n', /beyond the years/],
    [
      'all the money',
      'date,model,cost\n2026-11-05,o,999999999999999e99\n',
      /line 2: "9{15}e99" is more than all the money/,
    ],
    [
      'more tokens than can be counted',
      `date,model,output_tokens\n2026-11-05,o,${2 ** 53 - 1}\n2026-11-05,o,${2 ** 53 - 1}\n`,
      /more tokens of one model on a day/,
    ],
    ['no JSON', '{"date":"2026-11-05",\n', /no JSON/],
    ['JSON of no rows', '[[1]]', /no object/],
    ['nothing about tokens', 'date,model\n2026-11-05,opal\n', /no row of it is about tokens/],
    [
      'a cache beyond the input',
      '{"date":"2026-11-05","model":"o","input_tokens":1,"cached_tokens":2}',
      /more tokens were read/,
    ],
  ])('%s', async (_what, report, problem) => {
    const comparing = compared(report, []);
    await expect(comparing).rejects.toThrow(ReportError);
    await expect(comparing).rejects.toThrow(problem);
  });

  it('not where an operator has said that a column does not matter', async () => {
    const report = `${HEAD},Colour\n2026-11-05,opal,1,red\n`;
    expect(await compared(report, [], { ignored: ['colour'] })).toMatchObject({ counts: { theirsOnly: 1 } });
  });
});

it('reads a report of millions of letters on one line, in little pieces', async () => {
  const row = { date: '2026-11-05', model: 'opal', output_tokens: 1, note: 'x'.repeat(1_000_000) };
  const options = { ignored: ['note'], size: 16 };
  const report = JSON.stringify([row, row, row]);
  const one = await compared(report, [], options);
  expect(one).toMatchObject({ report: { rows: 3 }, counts: { theirsOnly: 1 } });
  const { lines } = await compared(`[\n${report.slice(1)}`, [], options);
  expect(lines).toEqual(one.lines);
});

it('is of a provider that somebody knows: a catalog, what was used, or who asks', async () => {
  const report = 'date,model,output_tokens\n2026-11-05,opal,1\n';
  const of = (provider: string, events: readonly RecordedEvent[], known: readonly string[] = []) =>
    reconcile(chunked(report, 7), inTurn(events), { provider, known, fromMs: null, toMs: null, ignored: [] });
  const events = logOf(DAYS.slice(3));
  await expect(of('othre', events, ['mock'])).rejects.toThrow(
    /there is no provider othre in .*; known are example, mock, other$/,
  );
  for (const provider of ['example', 'other']) expect(await of(provider, events)).toMatchObject({ provider });
  expect(await of('third', events, ['third'])).toMatchObject({ provider: 'third' });
  const log = new MemoryEventLog();
  await publishCatalog(log, catalogFileSchema.parse({ models: [catalogEntry('opal-x')] }), recordingBy('operator', 0));
  const published: RecordedEvent[] = [];
  for await (const event of log.readAll()) published.push(event);
  const { provider = '' } = catalogEntry('opal-x').upstreams[0] ?? {};
  expect(await of(provider, published)).toMatchObject({ provider });
});

it('the folder’s README has every column that is known, under what it means', () => {
  const text = READMES.get('ledger/reconcile/README.md') ?? '';
  const told = [...text.matchAll(/^\| `(\w+)` \| ((?:`[\w.]+`(?:, )?)+) \|$/gm)].map(([, meaning, names = '']) => [
    meaning,
    names.replaceAll('`', '').split(', '),
  ]);
  expect(Object.fromEntries(told)).toEqual(COLUMNS);
});
