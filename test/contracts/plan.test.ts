import { expect, it } from 'vitest';
import { catalogFileSchema } from '../../contracts/catalog.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';

const plan = { id: 'team', label: 'Team', price: '200.00', credits: '260.00' };
const fileOf = (...plans: readonly object[]): object => ({ models: [catalogEntry('opal')], plans });

function faultsOf(...plans: readonly object[]): string[] {
  const result = catalogFileSchema.safeParse(fileOf(...plans), { reportInput: true });
  return result.success ? [] : fieldFaults(result.error).map(describeFault);
}

it('a plan of a catalog file passes, with defaults for what it does not say', () => {
  expect(catalogFileSchema.parse(fileOf(plan)).plans).toEqual([
    {
      ...{ id: 'team', label: 'Team', product: 'gateway', period: 'month', grace_days: 7 },
      ...{ price: 200_000_000n, credits: 260_000_000n, overdraft: 0n },
    },
  ]);
  expect(catalogFileSchema.parse({ models: [catalogEntry('opal')] }).plans).toEqual([]);
  const [limited] = catalogFileSchema.parse(fileOf({ ...plan, rate_limits: { concurrentRequests: 3 } })).plans;
  expect(limited?.rate_limits).toMatchObject({
    concurrentRequests: 3,
    concurrentStreams: 3,
    requestsPerMinute: 12_000,
  });
});

it.each<[string, object, RegExp]>([
  ['a price that nobody can charge', { price: '0.49' }, /plans\.0\.price: .*at least 0\.50 USD/],
  ['parts of a cent', { price: '5.005' }, /plans\.0\.price: .*whole cents/],
  ['a price that is no amount', { price: 20 }, /plans\.0\.price/],
  ['more than anybody means', { credits: '1000001' }, /plans\.0\.credits: must be at most 1000000/],
  ['no credits', { credits: '0' }, /plans\.0\.credits: must be more than 0/],
  ['the name of having no plan', { id: 'trial' }, /plans\.0\.id: .*no plan/],
  ['the word that ends one', { id: 'none' }, /plans\.0\.id: .*no plan/],
  [
    'models that there are not',
    { models: ['opal', 'opla'] },
    /plans\.0\.models\.1: "opla" is no model of this catalog/,
  ],
  ['no models', { models: [] }, /plans\.0\.models: must be at least 1/],
  ['a grace that outlasts a month', { grace_days: 28 }, /plans\.0\.grace_days/],
  ['no grace', { grace_days: 0 }, /plans\.0\.grace_days/],
  ['another period', { period: 'year' }, /plans\.0\.period/],
])('a plan with %s is refused with its place', (_what, change, fault) => {
  expect(faultsOf({ ...plan, ...change }).join()).toMatch(fault);
});

it('a plan is listed once, and one without a price may be meant', () => {
  expect(faultsOf(plan, plan)).toEqual([expect.stringMatching(/plans\.1\.id: "team" is listed twice/)]);
  expect(faultsOf({ ...plan, price: '0' })).toEqual([]);
});
