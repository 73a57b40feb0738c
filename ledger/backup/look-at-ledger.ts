import type { ReadableLog } from '../../contracts/event-log.ts';
import { readLedgerState } from '../identity/ledger-state.ts';
import { lastEvent } from '../last-event.ts';
import { newestSeal } from '../seals/newest-seal.ts';
import type { BackedUpLedger } from './manifest.ts';

/** Which ledger a log holds, and up to where. @throws EventLogError, UnreadableEventError */
export async function lookAtLedger(log: ReadableLog): Promise<BackedUpLedger> {
  const { identity } = await readLedgerState(log);
  const sealed = await newestSeal(log);
  const last = await lastEvent(log);
  return {
    ledgerId: identity?.ledgerId ?? null,
    generation: identity?.generation ?? 1,
    head: last && { position: last.position, stream: last.stream, revision: last.revision, id: last.id },
    seal: sealed && {
      ...{ seal: sealed.seal.seal, treeSize: sealed.seal.treeSize },
      ...{ treeRoot: sealed.seal.treeRoot, sha256: sealed.sha256 },
    },
  };
}
