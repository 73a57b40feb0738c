import type { ReadFault } from './fault-kinds.ts';
import { leaderOf } from './perform-append.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';

/** What the fault does once it strikes: fails the call, sends nothing more, or resets the connection. */
type Strike =
  | { readonly type: 'fail'; readonly error: errors.RpcError }
  | { readonly type: 'silence' }
  | { readonly type: 'cut' };

/** After how many events the fault strikes, and how; -1 is before a subscription is confirmed. Null: it never does. */
export function strikeOf(
  node: ServerNode,
  fault: ReadFault,
): { readonly after: number; readonly strike: Strike } | null {
  if (fault === 'ok') return null;
  if (fault === 'cut') return { after: -1, strike: { type: 'cut' } };
  if (typeof fault === 'string') return { after: -1, strike: { type: 'fail', error: errorOf(node, fault) } };
  if ('silentAfterEvents' in fault) return { after: fault.silentAfterEvents, strike: { type: 'silence' } };
  if ('cutAfterEvents' in fault) return { after: fault.cutAfterEvents, strike: { type: 'cut' } };
  return { after: fault.breakAfterEvents, strike: { type: 'fail', error: errors.unavailable() } };
}

function errorOf(
  node: ServerNode,
  fault: 'refuse' | 'not-leader' | 'busy' | 'internal' | 'access-denied',
): errors.RpcError {
  switch (fault) {
    case 'refuse':
      return errors.unavailable();
    case 'not-leader':
      return errors.notLeader(leaderOf(node));
    case 'busy':
      return errors.serverBusy();
    case 'internal':
      return errors.internal();
    case 'access-denied':
      return errors.accessDenied();
  }
}
