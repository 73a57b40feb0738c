import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type CatalogFile,
  type CatalogFileModel,
  type CatalogModel,
  catalogModelField,
} from '../../contracts/catalog.ts';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { EventData } from '../../contracts/events.ts';
import { CATALOG_STREAM } from '../../contracts/ids.ts';
import { FAST_MULTIPLIER, type RateCard, rateCard } from '../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import { type CatalogState, loadCatalog } from './catalog-state.ts';

export type PublishResult =
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
  const newCards = catalog.models.map((model) => model.rateCard).filter((card) => !state.cards.has(card.hash));
  return { type: 'published', catalog, newCards };
}

/** The next version of the catalog; null where the file changes nothing. A model whose prices change gets a new card. */
export function decideCatalog(
  state: CatalogState,
  file: CatalogFile,
  publishedAt: string,
): EventData<'CatalogPublished'> | null {
  const models = file.models.map((model) => catalogModel(model, cardOf(model, state.newestCards.get(model.id))));
  const hash = hashOf(models);
  if (hash === state.hash) return null;
  return { version: state.version + 1, hash, publishedAt, models };
}

function cardOf(model: CatalogFileModel, newest: RateCard | undefined): RateCard {
  const fastMultiplier = model.lanes.includes('fast') ? FAST_MULTIPLIER : null;
  const unchanged =
    newest !== undefined &&
    newest.fastMultiplier === fastMultiplier &&
    TOKEN_CLASSES.every((name) => newest.rates[name] === model.rates[name]);
  return unchanged ? newest : rateCard(model.id, (newest?.version ?? 0) + 1, model.rates, fastMultiplier);
}

const catalogModel = (model: CatalogFileModel, card: RateCard): CatalogModel => ({
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
  rateCard: card,
});

const hashOf = (models: readonly CatalogModel[]): string =>
  createHash('sha256')
    .update(JSON.stringify(z.encode(z.array(catalogModelField), [...models])), 'utf8')
    .digest('hex');
