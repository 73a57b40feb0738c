import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type CatalogFile,
  type CatalogFileModel,
  type CatalogModel,
  catalogModelField,
} from '../../contracts/catalog.ts';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog, ReadableLog } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { CATALOG_STREAM } from '../../contracts/ids.ts';
import { type CatalogPlan, catalogPlanField, type FilePlan } from '../../contracts/plan.ts';
import { areSameUses, FAST_MULTIPLIER, type RateCard, type Rates, rateCard } from '../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import {
  type CatalogState,
  cardsOf,
  EMPTY_CATALOG,
  evolveCatalog,
  loadCatalog,
  readPublications,
} from './catalog-state.ts';

type PublishResult =
  | {
      readonly type: 'published';
      readonly catalog: EventData<'CatalogPublished'>;
      readonly newCards: readonly RateCard[];
    }
  | { readonly type: 'unchanged'; readonly version: number }
  /** Somebody else published in between; reading their catalog first is the operator's call. */
  | { readonly type: 'conflict' };

/** Publishes a catalog file as the next version; a file that changes nothing is not published again. */
export async function publishCatalog(log: EventLog, file: CatalogFile, recording: Recording): Promise<PublishResult> {
  const state = await loadCatalog(log);
  const catalog = decideCatalog(state, file, recording.recordedAt);
  if (catalog === null) return { type: 'unchanged', version: state.version };
  const proposed = encodeEvents([{ type: 'CatalogPublished', data: catalog }], recording);
  const result = await log.append(CATALOG_STREAM, state.revision, proposed);
  if (result.type === 'conflict') return { type: 'conflict' };
  const newCards = catalog.models.flatMap(cardsOf).filter((card) => !state.cards.has(card.hash));
  return { type: 'published', catalog, newCards };
}

/** As which version, the newest of them, a file was in force; null where it never was. */
export async function publishedAs(log: Pick<ReadableLog, 'readStream'>, file: CatalogFile): Promise<number | null> {
  let state = EMPTY_CATALOG;
  let version: number | null = null;
  for await (const { data, revision } of readPublications(log)) {
    state = evolveCatalog(state, data, revision);
    // Of its time: a card that came later has another version.
    if (decideCatalog(state, file, '') === null) version = state.version;
  }
  return version;
}

/** The next version of the catalog; null where the file changes nothing. A model whose prices change gets a new card. */
export function decideCatalog(
  state: CatalogState,
  file: CatalogFile,
  publishedAt: string,
): EventData<'CatalogPublished'> | null {
  const models = file.models.map((model) => catalogModel(model, state));
  const plans = file.plans.map(catalogPlan);
  const hash = hashOf(models, plans);
  if (hash === state.hash) return null;
  return { version: state.version + 1, hash, publishedAt, models, plans };
}

/** The newest card of this id where it says the same, else its next version. */
function cardOf(id: string, rates: Rates, { lanes, uses }: CatalogFileModel, { newestCards }: CatalogState): RateCard {
  const newest = newestCards.get(id);
  const fastMultiplier = lanes.includes('fast') ? FAST_MULTIPLIER : null;
  const unchanged =
    newest !== undefined &&
    newest.fastMultiplier === fastMultiplier &&
    areSameUses(newest.uses, uses) &&
    TOKEN_CLASSES.every((name) => newest.rates[name] === rates[name]);
  return unchanged ? newest : rateCard(id, (newest?.version ?? 0) + 1, rates, fastMultiplier, uses);
}

/** A beta that changes the price has a card of its own: usage names it, and is recomputed by it for ever. */
const betaCardId = (model: string, beta: string): string => `${model}+${beta}`;

const catalogModel = (model: CatalogFileModel, state: CatalogState): CatalogModel => ({
  id: model.id,
  displayName: model.display_name,
  family: model.family,
  label: model.label,
  group: model.group,
  note: model.note ?? null,
  contextWindow: model.context_window,
  caching: model.caching,
  showcase: model.showcase,
  status: model.status,
  retiresAt: model.retires_at ?? null,
  replacement: model.replacement ?? null,
  lanes: model.lanes,
  free: model.free,
  upstreams: model.upstreams,
  rateCard: cardOf(model.id, model.rates, model, state),
  betas: {
    shipped: model.betas.shipped,
    listed: model.betas.listed.map(({ name, contextWindow, rates }) => ({
      name,
      contextWindow,
      rateCard: rates === null ? null : cardOf(betaCardId(model.id, name), rates, model, state),
    })),
  },
  systemRole: model.system_role,
});

const catalogPlan = ({ rate_limits, models, grace_days, ...plan }: FilePlan): CatalogPlan => ({
  ...plan,
  rateLimits: rate_limits ?? null,
  models: models ?? null,
  graceDays: grace_days,
});

/** One without plans has the hash that it had before there could be any. */
function hashOf(models: readonly CatalogModel[], plans: readonly CatalogPlan[]): string {
  const ofModels = z.encode(z.array(catalogModelField), [...models]).map(withoutDefaults);
  const all =
    plans.length === 0 ? ofModels : { models: ofModels, plans: z.encode(z.array(catalogPlanField), [...plans]) };
  return createHash('sha256').update(JSON.stringify(all), 'utf8').digest('hex');
}

type StoredModel = z.input<typeof catalogModelField>;

/** What older catalogs could not say is left out where it says nothing: the hash, and so the version, stays. */
function withoutDefaults({ betas, systemRole, rateCard: { uses, ...card }, ...model }: StoredModel): object {
  const rateCard = Object.keys(uses).length === 0 ? card : { ...card, uses };
  const saysNothing = betas.shipped && betas.listed.length === 0;
  return { ...model, rateCard, ...(saysNothing ? {} : { betas }), ...(systemRole ? { systemRole } : {}) };
}
