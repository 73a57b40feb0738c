import { SHIPPED } from '../../../contracts/betas.ts';
import type { CatalogModel } from '../../../contracts/catalog.ts';
import { groupedUsd, PICO_PER_MICRO } from '../../../contracts/money.ts';
import type { CatalogPlan } from '../../../contracts/plan.ts';
import { FAST_MULTIPLIER, type RateCard } from '../../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../../contracts/usage.ts';
import type { CommandContext } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { type Terminal, table } from '../show.ts';

interface ShownCatalog {
  readonly version: number;
  readonly hash: string;
  readonly models: readonly CatalogModel[];
  readonly plans: readonly CatalogPlan[];
}

/** A catalog as people read it: a row a model, and one a plan. */
export function catalogText({ version, hash, models, plans }: ShownCatalog, context: CommandContext): string {
  if (version === 0)
    return `no catalog is published yet: ${nextCommand(startedWithOf(context), 'gateway', 'catalog', 'publish', 'FILE')}`;
  const rows = models.map((model) => [
    model.id,
    model.family,
    model.status + (model.retiresAt === null ? '' : ` (${model.retiresAt.slice(0, 10)}, then ${model.replacement})`),
    ...TOKEN_CLASSES.map((name) => (model.free ? 'free' : groupedUsd(model.rateCard.rates[name]))),
    model.lanes.map((lane) => (lane === 'fast' && !model.free ? `fast (tokens ${FAST_MULTIPLIER}x)` : lane)),
    usesOf(model.rateCard),
    betasOf(model),
    `${model.rateCard.version}`,
    model.upstreams.map(({ provider, model: name }) => `${provider}/${name}`).join(', '),
  ]);
  const head = [
    'model',
    'family',
    'status',
    'input USD/MTok',
    'output',
    'cache read',
    'write 5 min',
    'write 1 h',
    'lanes',
    'USD a use',
    'betas',
    'card',
    'upstreams',
  ];
  return `catalog version ${version} (${hash.slice(0, 12)})\n${table(head, rows, context)}${plans.length === 0 ? '' : `\n\n${plansText(plans, context)}`}`;
}

/** Plans as people read them, a row each. */
export const plansText = (plans: readonly CatalogPlan[], terminal: Terminal): string =>
  table(
    ['plan', 'label', 'USD a month', 'USD credits', 'USD overdraft', 'grace', 'models', 'product'],
    plans.map(({ id, label, price, credits, overdraft, graceDays, models, product }) => [
      ...[id, label, groupedUsd(price), groupedUsd(credits), groupedUsd(overdraft), `${graceDays} d`],
      ...[models?.join(', ') ?? 'all', product],
    ]),
    terminal,
  );

/** USD a use, a line each. */
const usesOf = ({ uses }: Pick<RateCard, 'uses'>): string[] =>
  Object.entries(uses).map(([name, rate]) => `${name} ${groupedUsd(rate / PICO_PER_MICRO)}`);

/** The shipped list as the word that stands for it, and each of the others with what it changes; a line each. */
const betasOf = ({ betas }: CatalogModel): string[] => [
  ...(betas.shipped ? [SHIPPED] : []),
  ...betas.listed.map(({ name, contextWindow, rateCard }) => {
    const changes = [
      ...(contextWindow === null ? [] : [`window ${contextWindow}`]),
      ...(rateCard === null
        ? []
        : [`input ${groupedUsd(rateCard.rates.input)}, output ${groupedUsd(rateCard.rates.output)}`]),
    ];
    return changes.length === 0 ? name : `${name} (${changes.join(', ')})`;
  }),
];
