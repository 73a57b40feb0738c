import type { AppendOutcome } from './append-outcome.ts';
import type { AppendFault } from './fault-kinds.ts';
import type { SeenAppend } from './faults.ts';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';

type AppendEnd =
  | { readonly type: 'answered'; readonly outcome: AppendOutcome }
  | { readonly type: 'failed'; readonly fault: AppendFault; readonly error: errors.RpcError };

const STORES: ReadonlySet<AppendFault> = new Set<AppendFault>([
  'ok',
  'lose-ack',
  'lose-ack-cancelled',
  'store-and-stall',
  'store-and-commit-timeout',
  'store-and-cut',
]);

/**
 * One append with the faults that it meets. `done` is not called where the client gets no answer. The same append again
 * while the first is under way is given up for its time when that one has ended.
 */
export function performAppend(
  node: ServerNode,
  append: SeenAppend,
  peer: string,
  done: (end: AppendEnd) => void,
): void {
  node.seen.appends += 1;
  const key = JSON.stringify([append.stream, append.expected, append.events.map(({ id }) => id)]);
  const retries = node.underWay.get(key);
  if (retries !== undefined) {
    retries.push(() => done({ type: 'failed', fault: 'commit-timeout', error: errors.commitTimeout() }));
    return;
  }
  node.underWay.set(key, []);
  const fault = node.faults.ofAppend(append);
  const { appendDelayMs } = node.faults;
  const go = (decided: AppendFault): void => {
    finish(node, append, decided, peer, done);
    for (const giveUp of node.underWay.get(key) ?? []) giveUp();
    node.underWay.delete(key);
  };
  if (fault instanceof Promise) fault.then(go, () => go('internal'));
  else if (appendDelayMs === 0) go(fault);
  else setTimeout(go, appendDelayMs, fault).unref();
}

function finish(
  node: ServerNode,
  append: SeenAppend,
  fault: AppendFault,
  peer: string,
  done: (end: AppendEnd) => void,
): void {
  if (!node.alive) return;
  const outcome = STORES.has(fault) ? node.log.append(append.stream, append.expected, append.events) : null;
  if (fault === 'ok' && outcome !== null) done({ type: 'answered', outcome });
  else if (fault === 'cut' || fault === 'store-and-cut') node.cut(peer);
  else if (fault !== 'stall' && fault !== 'store-and-stall')
    done({ type: 'failed', fault, error: errorOf(node, fault) });
}

function errorOf(node: ServerNode, fault: AppendFault): errors.RpcError {
  switch (fault) {
    case 'lose-ack-cancelled':
      return errors.cancelled();
    case 'not-leader':
      return errors.notLeader(leaderOf(node));
    case 'busy':
      return errors.serverBusy();
    case 'not-ready':
      return errors.serverNotReady();
    case 'internal':
      return errors.internal();
    case 'no-leader':
      return errors.unknown('No leader info available in response');
    case 'unknown':
    case 'bad-request':
      return errors.unknown();
    case 'commit-timeout':
    case 'store-and-commit-timeout':
      return errors.commitTimeout();
    case 'access-denied':
      return errors.accessDenied();
    default:
      return errors.unavailable();
  }
}

/** Where a node that does not lead sends its clients. */
export function leaderOf(node: ServerNode): { readonly host: string; readonly port: number } {
  const { leader, leaderEndpoint } = node.faults;
  if (leader !== null) return leader;
  return leaderEndpoint.port === 0 ? node.endpoint : leaderEndpoint;
}
