import { SHIPPED } from '../../contracts/betas.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { formatUsd, microUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import { type RateCard, sortedUses } from '../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';

/** Of one model, from one catalog to another. Fields as a catalog file names them, prices in USD. */
export interface ModelChange {
  readonly model: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Null: it says nothing of that. */
  readonly fields: readonly { readonly field: string; readonly from: string | null; readonly to: string | null }[];
}

/** In the order of their ids; models that stay as they are have none. Pure. */
export function catalogChanges(before: readonly CatalogModel[], after: readonly CatalogModel[]): ModelChange[] {
  const [from, to] = [byId(before), byId(after)];
  return [...new Set([...from.keys(), ...to.keys()])].sort().flatMap((model): ModelChange[] => {
    const [was, is] = [from.get(model), to.get(model)];
    const fields = fieldChanges(was, is);
    if (fields.length === 0) return [];
    return [{ model, change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed', fields }];
  });
}

const byId = (models: readonly CatalogModel[]) => new Map(models.map((model) => [model.id, model]));

function fieldChanges(was: CatalogModel | undefined, is: CatalogModel | undefined): ModelChange['fields'] {
  const from: Fields = was === undefined ? new Map() : fieldsOf(was);
  const to: Fields = is === undefined ? new Map() : fieldsOf(is);
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
