import type { FastifyInstance } from 'fastify';
import type { CatalogAnswer, PricingAnswer } from '../../contracts/answers.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { exactNumber } from '../../contracts/exact-number.ts';
import { formatUsd, PICO_PER_MICRO } from '../../contracts/money.ts';
import { FAST_MULTIPLIER, type RateCard, sortedUses } from '../../contracts/rate-card.ts';
import { callableModels, lifecycleOf } from '../admission/model-lifecycle.ts';
import { answer } from '../answer.ts';
import type { GatewayParts } from '../gateway-parts.ts';

/** GET /catalog and GET /pricing: public. Prices come from the very rate cards that the meter bills with. */
export function routeCatalogAndPricing(app: FastifyInstance, { projections, clock }: GatewayParts): void {
  app.get('/catalog', (_request, reply) => {
    const models = callableModels(projections.catalog.state, clock()).map(({ id, label, group }) => ({
      id,
      label,
      group,
    }));
    return answer(reply, { models } satisfies CatalogAnswer);
  });

  app.get('/pricing', (_request, reply) => {
    const { version, hash } = projections.catalog.state;
    const models = callableModels(projections.catalog.state, clock());
    const pricing: PricingAnswer = {
      version,
      hash,
      credit: '1 credit = 1 micro-USD; 1,000,000 credits = 1.00 USD',
      unit: 'per million tokens',
      fast_multiplier: FAST_MULTIPLIER,
      models: models.map((model) => priceOf(model, clock())),
      showcase: models.filter((model) => model.showcase).map((model) => model.id),
    };
    return answer(reply, pricing);
  });
}

function priceOf(model: CatalogModel, nowMs: number): PricingAnswer['models'][number] {
  return {
    id: model.id,
    label: model.label,
    status: lifecycleOf(model, nowMs) === 'deprecated' ? 'deprecated' : 'active',
    free: model.free,
    fast: model.rateCard.fastMultiplier !== null,
    caching: model.caching,
    credits: prices(model.rateCard, exactNumber),
    usd: prices(model.rateCard, formatUsd),
    ...usesOf(model.rateCard),
    ...betasOf(model),
  };
}

function usesOf({ uses }: RateCard): Pick<PricingAnswer['models'][number], 'usd_per_use'> {
  const priced = sortedUses(uses).map(([name, price]) => [name, formatUsd(price / PICO_PER_MICRO)]);
  return priced.length === 0 ? {} : { usd_per_use: Object.fromEntries(priced) };
}

function betasOf({ betas, contextWindow, rateCard }: CatalogModel): Pick<PricingAnswer['models'][number], 'betas'> {
  const changing = betas.listed
    .filter((beta) => beta.contextWindow !== null || beta.rateCard !== null)
    .map((beta) => ({
      name: beta.name,
      context_window: beta.contextWindow ?? contextWindow,
      credits: prices(beta.rateCard ?? rateCard, exactNumber),
      usd: prices(beta.rateCard ?? rateCard, formatUsd),
    }));
  return changing.length === 0 ? {} : { betas: changing };
}

/** A rate of N micro-USD per million tokens is N credits per million tokens. */
const prices = <T>({ rates }: RateCard, show: (rate: bigint) => T) => ({
  input: show(rates.input),
  output: show(rates.output),
  cache_read: show(rates.cacheRead),
  cache_write_5m: show(rates.cacheWrite5m),
  cache_write_1h: show(rates.cacheWrite1h),
});
