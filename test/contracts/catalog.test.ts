import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type CatalogFile, catalogFileSchema } from '../../contracts/catalog.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { ROUNDS_MAX } from '../../contracts/outside-input.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';

const model = catalogEntry('opal-medium', { context_window: 1000 });
const other = { ...model, id: 'opal-large' };
const ended = { status: 'deprecated', retires_at: '2027-03-31', replacement: 'opal-large' };
const changed = (change: object): object => ({ models: [{ ...model, ...change }, other] });

function faultsOf(file: unknown): string[] {
  const result = catalogFileSchema.safeParse(file, { reportInput: true });
  return result.success ? [] : fieldFaults(result.error).map(describeFault);
}

describe('a catalog file', () => {
  test('passes, with defaults for what is not said', () => {
    const [parsed] = catalogFileSchema.parse({ models: [model] }).models;
    expect(parsed).toMatchObject({
      caching: 'none',
      showcase: false,
      status: 'active',
      lanes: ['standard'],
      free: false,
      rates: {
        input: 3_000_000n,
        output: 15_000_000n,
        cacheRead: 300_000n,
        cacheWrite5m: 3_750_000n,
        cacheWrite1h: 6_000_000n,
      },
    });
  });

  test('has windows up to a bound, of a model and of a beta, that stays exact in all rounds of a request', () => {
    const fault = `must be at most ${LIMITS.contextWindowMax}`;
    const withBeta = (context_window: number) => changed({ betas: [{ name: 'long-2026-01-01', context_window }] });
    expect(Number.isSafeInteger(LIMITS.contextWindowMax * ROUNDS_MAX)).toBe(true);
    for (const file of [changed({ context_window: LIMITS.contextWindowMax }), withBeta(LIMITS.contextWindowMax)])
      expect(faultsOf(file)).toEqual([]);
    for (const more of [LIMITS.contextWindowMax + 1, 2 ** 53 - 1]) {
      expect(faultsOf(changed({ context_window: more }))).toEqual([`models.0.context_window: ${fault}`]);
      expect(faultsOf(withBeta(more)).join()).toMatch(/^models\.0\.betas\.0/);
    }
  });

  test('has prices up to a bound that no real one comes near, and 32 of them a use', () => {
    const bound = { input: '1000000', output: '1000000', uses: { web_search_requests: '10000' } };
    expect(faultsOf(changed({ price: bound }))).toEqual([]);
    const names = Array.from({ length: 33 }, (_, index) => [`use_${index}`, '0.01']);
    expect(faultsOf(changed({ price: { ...bound, input: '1000000.00002' } }))).toEqual([
      'models.0.price.input: must be at most 1000000 USD per million tokens',
    ]);
    expect(faultsOf(changed({ price: { ...bound, uses: { web_search_requests: '10000.000001' } } }))).toEqual([
      'models.0.price.uses.web_search_requests: must be at most 10000 USD a use',
    ]);
    expect(faultsOf(changed({ price: { ...bound, uses: Object.fromEntries(names) } }))).toEqual([
      'models.0.price.uses: at most 32 names',
    ]);
  });

  test('turns the sunset date into the first moment of that day in UTC', () => {
    expect(catalogFileSchema.parse(changed(ended)).models[0]?.retires_at).toBe('2027-03-31T00:00:00.000Z');
  });

  test('prices a free model at zero', () => {
    const { price: _price, ...unpriced } = model;
    const [free] = catalogFileSchema.parse({ models: [{ ...unpriced, free: true }] }).models;
    expect(Object.values(free?.rates ?? {})).toEqual([0n, 0n, 0n, 0n, 0n]);
  });

  test('lets the shipped betas pass where it says nothing, and else those that it lists', () => {
    const betasOf = (betas?: unknown) => catalogFileSchema.parse(changed({ betas })).models[0]?.betas;
    expect(betasOf()).toEqual({ shipped: true, listed: [] });
    expect(betasOf([])).toEqual({ shipped: false, listed: [] });
    const long = { name: 'context-1m-2025-08-07', context_window: 5000, price: { input: '6.00', output: '22.50' } };
    expect(betasOf(['shipped', 'new-2027-01-01', long])).toEqual({
      shipped: true,
      listed: [
        { name: 'new-2027-01-01', contextWindow: null, rates: null },
        {
          name: 'context-1m-2025-08-07',
          contextWindow: 5000,
          rates: expect.objectContaining({ input: 6_000_000n, output: 22_500_000n, cacheWrite1h: 12_000_000n }),
        },
      ],
    });
  });

  test('prices a use in pico-USD', () => {
    const uses = { web_search_requests: '0.01', code_execution_requests: '0' };
    const [parsed] = catalogFileSchema.parse(changed({ price: { ...model.price, uses } })).models;
    expect(parsed?.uses).toEqual({ web_search_requests: 10_000_000_000n, code_execution_requests: 0n });
  });

  test.each([
    [{ price: { ...model.price, uses: { 'Web Search': '0.01' } } }, /^models\.0\.price\.uses/],
    [
      { price: { ...model.price, uses: { web_search_requests: 0.01 } } },
      /uses\.web_search_requests: expected a string/,
    ],
    [
      { price: { ...model.price, uses: { web_serch_requests: '0.01' } } },
      /^models\.0\.price\.uses\.web_serch_requests: .*is "web_search_requests" meant\?$/m,
    ],
    [{ price: { ...model.price, use: {} } }, /^models\.0\.price: has no setting named "use"$/],
    [{ uses: { web_search_requests: '0.01' } }, /^models\.0: has no setting named "uses"$/],
    [{ beta: ['shipped'] }, /^models\.0: has no setting named "beta"$/],
    [{ betas: ['shiped'] }, /^models\.0\.betas: "shiped" is no beta; is the word "shipped" meant\?$/],
    [{ betas: [{ name: 'a', contextwindow: 1 }] }, /models\.0\.betas\.0: has no setting named "contextwindow"$/],
    [{ betas: [{ name: 'x', price: { input: '6', output: '0' } }] }, /models\.0\.betas: must be more than 0/],
    [
      { context_window: 5000, betas: [{ name: 'less-2026-01-01', context_window: 4999 }] },
      /^models\.0\.betas: less-2026-01-01: context_window: must be at least the model's, 5000$/,
    ],
    [
      { betas: [{ name: 'shipped', context_window: 1_000_000 }] },
      /^models\.0\.betas: "shipped" is no beta but the word for the shipped list, which stands alone: - shipped$/,
    ],
    [{ betas: ['x', { name: 'x' }] }, /models\.0\.betas: "x" is listed twice/],
    [{ betas: [{ name: 'x', price_above: { tokens: 200000, input: '6' } }] }, /models\.0\.betas/],
    [{ free: true, price: undefined, betas: [{ name: 'x', price: { input: '6', output: '6' } }] }, /no price/],
  ])('does not pass with %j', (change, problem) => {
    expect(faultsOf(changed(change)).join('\n')).toMatch(problem);
  });

  test.each([
    [
      { price: undefined },
      'models.0.price: required: a model without a price is never free by default; say "free: true" to mean it',
    ],
    [{ price: { input: '0', output: '1' } }, 'models.0.price: must be more than 0; say "free: true" to mean it'],
    [{ price: { input: '1', output: '0.00' } }, 'models.0.price: must be more than 0; say "free: true" to mean it'],
    [{ free: true }, 'models.0.price: a free model has none'],
    [
      { price: { input: '0.00001', output: '1' } },
      'models.0.price: input: must be a multiple of 0.00002 USD, so that 10% and 125% of it are whole micro-USD',
    ],
    [{ price: { input: '1' } }, 'models.0.price.output: required, expected a string'],
    [{ price: { input: 3, output: '1' } }, 'models.0.price.input: expected a string'],
    [
      { price: { input: '3,00', output: '1' } },
      'models.0.price.input: expected USD per million tokens as a string such as "3.00"',
    ],
    [{ price: { input: '1', output: '1', cache_read: '1' } }, 'models.0.price: has no setting named "cache_read"'],
    [{ ...ended, replacement: undefined }, 'models.0.replacement: required on a deprecated model'],
    [{ ...ended, status: 'retired', replacement: undefined }, 'models.0.replacement: required on a retired model'],
    [{ ...ended, retires_at: undefined }, 'models.0.retires_at: required on a deprecated model'],
    [{ retires_at: '2027-03-31' }, 'models.0.retires_at: only on a deprecated or retired model'],
    [{ ...ended, replacement: 'unlisted' }, 'models.0.replacement: "unlisted" is not another model of this catalog'],
    [
      { ...ended, replacement: 'opal-medium' },
      'models.0.replacement: "opal-medium" is not another model of this catalog',
    ],
    [{ upstreams: [] }, 'models.0.upstreams: expected at least one'],
    [{ upstreams: undefined }, 'models.0.upstreams: expected at least one'],
    [{ upstreams: [{ provider: 'mock' }] }, 'models.0.upstreams.0.model: required, expected a string'],
    [{ lanes: ['fast'] }, 'models.0.lanes: must include "standard"'],
    [{ lanes: ['express'] }, 'models.0.lanes.0: expected one of "standard", "fast"'],
    [{ family: 'Not a tag' }, 'models.0.family: expected a-z, 0-9 and - (at most 40)'],
    [{ status: 'old' }, 'models.0.status: expected one of "active", "deprecated", "retired"'],
    [{ id: 'a b' }, 'models.0.id: expected letters, digits and . _ : / - (at most 128)'],
    [{ id: 'a'.repeat(129) }, 'models.0.id: expected letters, digits and . _ : / - (at most 128)'],
    [{ label: '' }, 'models.0.label: must not be empty'],
    [{ context_window: 0 }, 'models.0.context_window: must be at least 1'],
    [{ prices: {} }, 'models.0: has no setting named "prices"'],
    [{ id: 'opal-large' }, 'models.1.id: "opal-large" is listed twice'],
  ])('with %j is told the path', (change, fault) => {
    expect(faultsOf(changed(change))).toEqual([fault]);
  });

  test('keeps to the number of upstreams that are tried for a request', () => {
    const upstreams = Array.from({ length: LIMITS.upstreamAttemptsMax + 1 }, () => model.upstreams[0]);
    expect(faultsOf(changed({ upstreams }))).toEqual([
      `models.0.upstreams: must be at most ${LIMITS.upstreamAttemptsMax}`,
    ]);
  });

  test('needs no upstream for a retired model', () => {
    expect(faultsOf(changed({ ...ended, status: 'retired', upstreams: [] }))).toEqual([]);
  });

  test.each([[{}], [{ models: [] }], [null], [[]]])('lists at least one model: %j', (file) => {
    expect(faultsOf(file)).toHaveLength(1);
  });

  test('is told the faults of all models together', () => {
    const faults = faultsOf({
      models: [
        { ...model, price: undefined, lanes: ['fast'] },
        { ...other, status: 'retired' },
      ],
    });
    expect(faults.map((fault) => fault.split(':')[0])).toEqual([
      'models.0.lanes',
      'models.0.price',
      'models.1.replacement',
      'models.1.retires_at',
    ]);
  });
});

describe('the example catalog', () => {
  const file = new URL('../../contracts/example-catalog.yaml', import.meta.url);
  const { models }: CatalogFile = catalogFileSchema.parse(parse(readFileSync(file, 'utf8')));

  test('shows five families', () => {
    expect(new Set(models.map(({ family }) => family))).toEqual(new Set(['opal', 'granite', 'open', 'swift', 'svc']));
  });

  test('has a deprecated, a retired, an automatic-caching, a fast-lane and a dated model', () => {
    expect(new Set(models.map(({ status }) => status))).toEqual(new Set(['active', 'deprecated', 'retired']));
    expect(models.some(({ caching }) => caching === 'automatic')).toBe(true);
    expect(models.some(({ lanes }) => lanes.includes('fast'))).toBe(true);
    expect(models.some(({ id }) => /-\d{8}$/.test(id))).toBe(true);
  });

  test('gives nothing away but svc-mock', () => {
    expect(models.filter(({ free }) => free).map(({ id }) => id)).toEqual(['svc-mock']);
    for (const { free, rates } of models)
      expect(Object.values(rates).every((perToken) => (free ? perToken === 0n : perToken > 0n))).toBe(true);
  });

  test('replaces what ends with something that can be called', () => {
    for (const { replacement } of models.filter(({ status }) => status !== 'active'))
      expect(models.find(({ id }) => id === replacement)?.status).toBe('active');
  });
});
