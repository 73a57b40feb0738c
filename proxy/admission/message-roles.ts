import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { CountFacts } from '../request-body/request-facts.ts';

/** In the words by which agents know that they must send it again without role `system` (interface, 1.5). */
export function refuseByRoles({ systemRoleAt }: Pick<CountFacts, 'systemRoleAt'>, model: CatalogModel): Refusal | null {
  return model.systemRole || systemRoleAt === null
    ? null
    : refusal('invalid_request', `messages.${systemRoleAt}.role: role 'system' is not supported on this model`);
}
