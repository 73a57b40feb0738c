import { accessDenied, type RpcError, unauthenticated } from './rpc-errors.ts';
import type { SeenCall } from './seen-calls.ts';
import type { ServerNode } from './server-node.ts';

/** Whether the call may go on: null, or how it is refused. A node without users lets everybody in. */
export function refuseAccess(node: ServerNode, call: SeenCall): RpcError | null {
  if (node.users === null) return null;
  if (call.authorization === null) return accessDenied();
  const [, encoded = ''] = /^Basic (.+)$/.exec(call.authorization) ?? [];
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const isKnown = colon > 0 && node.users.get(text.slice(0, colon)) === text.slice(colon + 1);
  return isKnown ? null : unauthenticated();
}
