import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { CountFacts } from '../request-body/request-facts.ts';

/**
 * Some agents send role `system` between the other messages, and send the request again without it where the provider
 * says, in these words, that the model does not know it (interface, 1.5).
 */
export function refuseByRoles({ systemRoleAt }: Pick<CountFacts, 'systemRoleAt'>, model: CatalogModel): Refusal | null {
  return model.systemRole || systemRoleAt === null
    ? null
    : refusal('invalid_request', `messages.${systemRoleAt}.role: role 'system' is not supported on this model`);
}
