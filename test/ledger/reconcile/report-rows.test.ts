import { describe, expect, it } from 'vitest';
import { readReport } from '../../../ledger/reconcile/read-report.ts';
import { COLUMNS } from '../../../ledger/reconcile/report-columns.ts';
import { ReportError } from '../../../ledger/reconcile/report-error.ts';
import { type ReportRow, ReportRows } from '../../../ledger/reconcile/report-rows.ts';

async function rowsOf(report: string | Buffer, ignored: readonly string[] = []): Promise<ReportRow[]> {
  const rows = new ReportRows(ignored);
  const read: ReportRow[] = [];
  const bytes = (async function* () {
    yield Buffer.from(report as string);
  })();
  for await (const raw of readReport(bytes)) read.push(rows.read(raw));
  rows.assertKnown();
  return read;
}

async function refused(report: string | Buffer, problem: RegExp): Promise<void> {
  const reading = rowsOf(report);
  await expect(reading).rejects.toThrow(ReportError);
  await expect(reading).rejects.toThrow(problem);
}

/** A report of one row, its cells divided by commas, or as programs of other languages write them. */
const csv = (cells: Readonly<Record<string, string>>, divider = ','): string =>
  [Object.keys(cells), Object.values(cells).map((cell) => `"${cell}"`)].map((line) => line.join(divider)).join('\n');
const withCost = (cost: string, divider?: string): string => csv({ date: '2026-11-05', model: 'o', cost }, divider);
const withTokens = (output: string, divider?: string): string =>
  csv({ date: '2026-11-05', model: 'o', output_tokens: output }, divider);

describe('an amount', () => {
  it.each([
    ['0.25', ',', 250_000_000_000n],
    ['$1,234.56', ',', 1_234_560_000_000_000n],
    ['-12,345,678', ',', -12_345_678_000_000_000_000n],
    ['1.234', ',', 1_234_000_000_000n],
    ['0.123', ';', 123_000_000_000n],
    ['1.5', ';', 1_500_000_000_000n],
    ['1,234.56', '\t', 1_234_560_000_000_000n],
    ['1,234,567', ';', 1_234_567_000_000_000_000n],
  ])('%s where cells are divided by %j is %s pico-USD', async (cost, divider, pico) => {
    expect((await rowsOf(withCost(cost, divider)))[0]?.cost).toBe(pico);
  });

  it.each([
    ...[
      '0,25',
      '1,5',
      '1.234,56',
      '12,',
      '12,34',
      '1,2345',
      '0,234',
      '1,5e3',
      '1234,567',
      '1,23,456',
      '1.234.567',
    ].flatMap((cost) => [
      [cost, ','],
      [cost, ';'],
    ]),
  ])('%s is refused where cells are divided by %j: a comma is no point', (cost, divider) =>
    refused(withCost(cost, divider), /line 2: ".*" is no amount with a point/),
  );

  it.each(['1,234', '1.234', '-12.345', '$999,999'])(
    '%s is refused where commas may stand before decimals',
    async (cost) => {
      for (const divider of [';', '\t'])
        await refused(withCost(cost, divider), /line 2: ".*" may be thousands or decimals/);
    },
  );
});

describe('a number of tokens', () => {
  it.each([
    ['1234567', ',', 1_234_567],
    ['1,234,567', ',', 1_234_567],
    ['1,234', ',', 1_234],
    ['12.0', ',', 12],
    ['12.000000', ';', 12],
    ['1,234,567', ';', 1_234_567],
  ])('%s where cells are divided by %j is %i', async (output, divider, count) => {
    expect((await rowsOf(withTokens(output, divider)))[0]?.tokens.get('output')).toBe(count);
  });

  it.each(['1,5', '12,34', '0,123', '1.5', '1.000.000', '12.000,0', '1234,567'])('%s is refused', (output) =>
    refused(withTokens(output), /line 2: output_tokens: ".*" is no whole number/),
  );

  it.each(['1.000', '12.000'])('%s is refused however cells are divided', async (output) => {
    await refused(withTokens(output), /line 2: output_tokens: ".*" is no whole number/);
    await refused(withTokens(output, ';'), /line 2: output_tokens: ".*" may be thousands or decimals/);
  });
});

describe('two columns of one meaning', () => {
  const row = { output_tokens: '1' };
  it.each([
    ['id', '1', 'request_id', 'req_a'],
    ['cost', '1.00', 'total_cost', '9.00'],
    ['amount_usd', '1', 'cost_usd', '2'],
    ['created_at', '2026-11-05T12:00:00Z', 'day', '2026-11-05'],
    ['prompt_tokens', '5', 'input_tokens', '6'],
    ['model', 'o', 'model_version', 'o-1'],
    ['tier', 'standard', 'service_tier', 'batch'],
    ['cost', '1', 'Cost', '2'],
    ['cost', '1.5', 'amount', '1.5'],
    ['cache_read_tokens', '1', 'cached_tokens', '2'],
  ])('are refused where %s is %s and %s is %s, and taken where one is left out', async (one, a, other, b) => {
    const both = csv({ ...row, [one]: a, [other]: b });
    await refused(
      both,
      new RegExp(`line 2: ${one.toLowerCase()} "${a}" and ${other.toLowerCase()} "${b}" mean the same`),
    );
    if (one === other.toLowerCase()) return;
    expect(await rowsOf(both, [other])).toEqual(await rowsOf(csv({ ...row, [one]: a })));
    expect(await rowsOf(both, [one])).toEqual(await rowsOf(csv({ ...row, [other]: b })));
  });

  it.each([
    ['cost', '1.50', 'total_cost', '$1.5'],
    ['start_time', '1793836800', 'start_time_iso', '2026-11-05T00:00:00Z'],
    ['tier', 'default', 'service_tier', 'Standard'],
    ['cost', '1.5', 'amount', '150'],
    ['cached_tokens', '3', 'cache_read_tokens', '3'],
  ])('are one where %s is %s and %s is %s: the same in other words', async (one, a, other, b) => {
    const read = await rowsOf(csv({ model: 'o', output_tokens: '1', [one]: a, [other]: b }));
    expect(read).toEqual(await rowsOf(csv({ model: 'o', output_tokens: '1', [one]: a })));
  });

  it('are told by every meaning that there is', async () => {
    const values: Readonly<Record<string, readonly [string, string]>> = {
      ...{ time: ['2026-11-05', '2026-11-06'], end: ['2026-11-05', '2026-11-06'], batch: ['true', 'false'] },
      ...{ tokenClass: ['input', 'output'], currency: ['usd', 'EUR'] },
    };
    for (const [meaning, names] of Object.entries(COLUMNS)) {
      const [one = '', other = one.toUpperCase()] = names;
      const [a, b] = values[meaning] ?? ['1', '2'];
      await refused(csv({ [one]: a, [other]: b }), new RegExp(`${one} "${a}" and .* "${b}" mean the same`));
    }
  });
});

it.each([
  ['true', 'batch'],
  ['True', 'batch'],
  ['TRUE', 'batch'],
  ['1', 'batch'],
  ['False', null],
  ['0', null],
])('a row whose batch is %s has the tier %s', async (batch, tier) => {
  expect((await rowsOf(csv({ date: '2026-11-05', output_tokens: '1', batch })))[0]?.tier).toBe(tier);
});

it('a batch that is neither true nor false is refused', () =>
  refused(csv({ date: '2026-11-05', output_tokens: '1', batch: 'job-7' }), /line 2: batch: "job-7" is neither/));

it('costs of tokens are those whatever the case in which the report says so', async () => {
  expect((await rowsOf(csv({ date: '2026-11-05', cost: '1', cost_type: 'Tokens' })))[0]?.isOfTokens).toBe(true);
});

it.each([
  ['\ufeff', 'utf16le'],
  ['', 'utf16le'],
] as const)('text in UTF-16 that begins with %j is refused as that', (mark, encoding) =>
  refused(Buffer.from(`${mark}${withTokens('1', '\t')}`, encoding), /UTF-16: save it as UTF-8/),
);
