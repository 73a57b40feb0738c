import type { FastifyInstance } from 'fastify';
import type { ModelAnswer, ModelListAnswer } from '../../contracts/answers.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { callableModels, findModel, lifecycleOf } from '../admission/model-lifecycle.ts';
import { answer, refuse } from '../answer.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { findCaller } from './know-caller.ts';
import { pageOf, pageQuery } from './page.ts';

/** GET /v1/models, in pages where they are asked for, and /v1/models/{id}: the registry, active and deprecated models. */
export function routeModels(app: FastifyInstance, parts: GatewayParts): void {
  const { projections, clock } = parts;
  app.get('/v1/models', async (request, reply) => {
    const caller = await findCaller(request, parts);
    if (caller.type === 'refusal') return refuse(reply, caller);
    const query = pageQuery(request.query);
    if ('code' in query) return refuse(reply, query);
    const page = pageOf(callableModels(projections.catalog.state, clock()), query);
    if ('code' in page) return refuse(reply, page);
    const data = page.entries.map((model) => modelAnswer(model, parts));
    const list: ModelListAnswer = {
      data,
      has_more: page.hasMore,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return answer(reply, list);
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', async (request, reply) => {
    const caller = await findCaller(request, parts);
    if (caller.type === 'refusal') return refuse(reply, caller);
    const model = findModel(projections.catalog.state, request.params['*'], clock());
    return 'code' in model ? refuse(reply, model) : answer(reply, modelAnswer(model, parts));
  });
}

function modelAnswer(model: CatalogModel, { projections, clock }: GatewayParts): ModelAnswer {
  const isDeprecated = lifecycleOf(model, clock()) === 'deprecated';
  const listedSince = projections.catalog.state.listedSince.get(model.id);
  if (listedSince === undefined) throw new Error(`${model.id} is in the catalog and was never published`);
  return {
    id: model.id,
    type: 'model',
    display_name: model.displayName,
    family: model.family,
    status: isDeprecated ? 'deprecated' : 'active',
    context_window: model.contextWindow,
    created_at: listedSince,
    max_input_tokens: model.contextWindow,
    max_tokens: null,
    ...(isDeprecated && model.retiresAt !== null ? { retiresAt: model.retiresAt } : {}),
    ...(isDeprecated && model.replacement !== null ? { replacement: model.replacement } : {}),
    ...(model.note === null ? {} : { note: model.note }),
  };
}
