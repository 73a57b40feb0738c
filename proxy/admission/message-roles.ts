import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { CountTokensRequest } from '../../contracts/messages.ts';

/**
 * Some agents send role `system` between the other messages, and send the request again without it where the provider
 * says, in these words, that the model does not know it.
 */
export function refuseByRoles({ messages }: Pick<CountTokensRequest, 'messages'>, model: CatalogModel): Refusal | null {
  if (model.systemRole) return null;
  const at = messages.findIndex(({ role }) => role === 'system');
  return at === -1
    ? null
    : refusal('invalid_request', `messages.${at}.role: role 'system' is not supported on this model`);
}
