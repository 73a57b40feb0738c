import type { FastifyInstance } from 'fastify';
import type { ModelAnswer, ModelListAnswer } from '../../contracts/answers.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { callableModels, findModel, lifecycleOf } from '../admission/model-lifecycle.ts';
import { answer, refuse } from '../answer.ts';
import { authenticate } from '../authenticate.ts';
import type { GatewayParts } from '../gateway-parts.ts';

/** GET /v1/models and /v1/models/{id}: the registry, active and deprecated models. One page, always: SDKs stop there. */
export function routeModels(app: FastifyInstance, parts: GatewayParts): void {
  const { projections, clock } = parts;
  app.get('/v1/models', (request, reply) => {
    const caller = authenticate(request.headers, projections.accounts, clock());
    if (caller.type === 'refusal') return refuse(reply, caller);
    const data = callableModels(projections.catalog.state, clock()).map((model) => modelAnswer(model, clock()));
    const list: ModelListAnswer = {
      data,
      has_more: false,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
    };
    return answer(reply, list);
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', (request, reply) => {
    const caller = authenticate(request.headers, projections.accounts, clock());
    if (caller.type === 'refusal') return refuse(reply, caller);
    const model = findModel(projections.catalog.state, request.params['*'], clock());
    return 'code' in model ? refuse(reply, model) : answer(reply, modelAnswer(model, clock()));
  });
}

function modelAnswer(model: CatalogModel, nowMs: number): ModelAnswer {
  const isDeprecated = lifecycleOf(model, nowMs) === 'deprecated';
  return {
    id: model.id,
    type: 'model',
    display_name: model.displayName,
    family: model.family,
    status: isDeprecated ? 'deprecated' : 'active',
    context_window: model.contextWindow,
    ...(isDeprecated && model.retiresAt !== null ? { retiresAt: model.retiresAt } : {}),
    ...(isDeprecated && model.replacement !== null ? { replacement: model.replacement } : {}),
    ...(model.note === null ? {} : { note: model.note }),
  };
}
