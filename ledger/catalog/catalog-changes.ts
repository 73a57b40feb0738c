import { SHIPPED } from '../../contracts/betas.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { formatUsd, microUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import type { CatalogPlan } from '../../contracts/plan.ts';
import { type RateCard, sortedUses } from '../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';

/** Of one model, or one plan, from one catalog to another. Fields as a catalog file names them, prices in USD. */
interface Change {
  readonly change: 'added' | 'removed' | 'changed';
  /** Null: it says nothing of that. */
  readonly fields: readonly { readonly field: string; readonly from: string | null; readonly to: string | null }[];
}

export interface ModelChange extends Change {
  readonly model: string;
}

export interface PlanChange extends Change {
  readonly plan: string;
}

/** In the order of their ids; models that stay as they are have none. Pure. */
export const catalogChanges = (before: readonly CatalogModel[], after: readonly CatalogModel[]): ModelChange[] =>
  changesBy(before, after, fieldsOf).map(({ id, ...change }) => ({ model: id, ...change }));

/** The same of plans. */
export const planChanges = (before: readonly CatalogPlan[], after: readonly CatalogPlan[]): PlanChange[] =>
  changesBy(before, after, fieldsOfPlan).map(({ id, ...change }) => ({ plan: id, ...change }));

interface Named {
  readonly id: string;
}

function changesBy<Entry extends Named>(
  before: readonly Entry[],
  after: readonly Entry[],
  fieldsIn: (entry: Entry) => Fields,
): (Change & Named)[] {
  const [from, to] = [byId(before), byId(after)];
  return [...new Set([...from.keys(), ...to.keys()])].sort().flatMap((id): (Change & Named)[] => {
    const [was, is] = [from.get(id), to.get(id)];
    const fields = fieldChanges(was && fieldsIn(was), is && fieldsIn(is));
    if (fields.length === 0) return [];
    return [{ id, change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed', fields }];
  });
}

const byId = <Entry extends Named>(entries: readonly Entry[]) => new Map(entries.map((entry) => [entry.id, entry]));

function fieldChanges(from: Fields = new Map(), to: Fields = new Map()): Change['fields'] {
  return [...new Set([...from.keys(), ...to.keys()])]
    .map((field) => ({ field, from: from.get(field) ?? null, to: to.get(field) ?? null }))
    .filter((one) => one.from !== one.to);
}

type Fields = ReadonlyMap<string, string | null>;

/** Everything that a model says but its id; the prices first. */
function fieldsOf(model: CatalogModel): Fields {
  return new Map<string, string | null>([
    ...(model.free ? [] : pricesOf('price', model.rateCard)),
    ['free', String(model.free)],
    ['status', model.status],
    ['retires_at', model.retiresAt],
    ['replacement', model.replacement],
    ['context_window', String(model.contextWindow)],
    ['caching', model.caching],
    ['lanes', model.lanes.join(', ')],
    ['upstreams', model.upstreams.map(({ provider, model: name }) => `${provider}/${name}`).join(', ')],
    ['betas', [...(model.betas.shipped ? [SHIPPED] : []), ...model.betas.listed.map(({ name }) => name)].join(', ')],
    ...model.betas.listed.flatMap(({ name, contextWindow, rateCard }): [string, string | null][] => [
      [`betas.${name}.context_window`, contextWindow === null ? null : String(contextWindow)],
      ...(rateCard === null ? [] : pricesOf(`betas.${name}.price`, rateCard)),
    ]),
    ['system_role', String(model.systemRole)],
    ['display_name', model.displayName],
    ['family', model.family],
    ['label', model.label],
    ['group', model.group],
    ['note', model.note],
    ['showcase', String(model.showcase)],
  ]);
}

/** USD a million tokens of each class, and USD a use. */
const pricesOf = (path: string, { rates, uses }: RateCard): [string, string][] => [
  ...TOKEN_CLASSES.map((name): [string, string] => [`${path}.${name}`, formatUsd(rates[name])]),
  ...sortedUses(uses).map(([name, price]): [string, string] => [
    `${path}.uses.${name}`,
    formatUsd(microUsd(price / PICO_PER_MICRO)),
  ]),
];

/** Everything that a plan says but its id; the price first. */
const fieldsOfPlan = (plan: CatalogPlan): Fields =>
  new Map<string, string | null>([
    ['price', formatUsd(plan.price)],
    ['credits', formatUsd(plan.credits)],
    ['period', plan.period],
    ['overdraft', formatUsd(plan.overdraft)],
    ['grace_days', String(plan.graceDays)],
    ['models', plan.models?.join(', ') ?? null],
    ...Object.entries(plan.rateLimits ?? {}).map(([name, limit]): [string, string] => [
      `rate_limits.${name}`,
      String(limit),
    ]),
    ['product', plan.product],
    ['label', plan.label],
  ]);
