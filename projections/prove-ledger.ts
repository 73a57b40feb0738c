import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventLog } from '../contracts/event-log.ts';
import { findLost, type LostEvents } from '../ledger/identity/find-lost.ts';
import { type FolderNote, knowledgeOfNote, readNote } from '../ledger/identity/folder-note.ts';
import { knowledgeOfJournal } from '../ledger/identity/journal-knowledge.ts';
import type { LedgerKnowledge } from '../ledger/identity/known-ledger.ts';
import {
  type LedgerLostError,
  ledgerLost,
  olderGeneration,
  otherLedger,
  unidentified,
} from '../ledger/identity/ledger-lost.ts';
import { type LedgerIdentity, type LedgerState, readLedgerState } from '../ledger/identity/ledger-state.ts';
import { IDENTITY_LIMITS } from '../ledger/identity/limits.ts';
import type { RecoveredRequest } from '../ledger/journal/journal.ts';
import { readUndamaged } from './damaged-views.ts';
import { readKnownViews, VIEWS_FILE } from './known-views.ts';

/** What a data folder knows of its ledger. */
export interface FolderKnowledge {
  readonly note: FolderNote | null;
  readonly all: readonly LedgerKnowledge[];
  /** The newest identity that anything in the folder knows; null where all of it is from before. */
  readonly identity: LedgerIdentity | null;
  /** Why its views cannot be read, and so tell nothing; null where they can, or there are none. */
  readonly viewsDamage: string | null;
}

/** How a ledger compares with what a data folder knows of it. */
export type LedgerComparison =
  /** Everything known is there. */
  | { readonly type: 'whole'; readonly state: LedgerState }
  /** A loss was accepted since: the folder goes over to the new generation. */
  | { readonly type: 'later generation'; readonly state: LedgerState; readonly identity: LedgerIdentity }
  /** Not everything is there. `lost` can be empty where the ledger's identity tells. */
  | (LostEvents & { readonly type: 'lost'; readonly state: LedgerState; readonly error: LedgerLostError })
  | { readonly type: 'other ledger'; readonly error: LedgerLostError };

/** @throws UnreadableFileError where the folder's note says nothing; Error when another file of the folder is not of its form */
export function readFolder(dataFolder: string, recovered: readonly RecoveredRequest[], nowMs: number): FolderKnowledge {
  const path = join(dataFolder, VIEWS_FILE);
  const found = readUndamaged(path, () => readKnownViews(path));
  const views = found.damage === null ? found.read : null;
  const note = readNote(dataFolder);
  const all = [
    ...(views === null ? [] : [views]),
    knowledgeOfJournal(recovered, new Set(note?.earlier), nowMs),
    ...(note === null ? [] : [knowledgeOfNote(note)]),
  ];
  const identities = all.flatMap(({ identity }) => (identity === null ? [] : [identity]));
  const identity = identities.sort((one, other) => other.generation - one.generation)[0] ?? null;
  return { note, all, identity, viewsDamage: found.damage };
}

export interface CompareOptions {
  readonly log: EventLog;
  /** The ledger as an operator knows it: its file, or the event store. */
  readonly where: string;
  /** How often something missing is looked for; a file needs one look. */
  readonly looks?: number;
  /** Something is missing, and it is looked for again. */
  readonly onMissing?: () => void;
}

/**
 * Whether a ledger has everything that a data folder knows of it. It is asked several times where something is missing,
 * because a node that lags behind its leader has lost nothing. @throws EventLogError when the log does not answer
 */
export async function compareLedger(
  known: readonly LedgerKnowledge[],
  options: CompareOptions,
): Promise<LedgerComparison> {
  for (let look = 1; ; look++) {
    const comparison = await lookOnce(known, options);
    if (comparison.type !== 'lost' || look >= (options.looks ?? IDENTITY_LIMITS.looks)) return comparison;
    options.onMissing?.();
    await delay(IDENTITY_LIMITS.lookPauseMs);
  }
}

async function lookOnce(all: readonly LedgerKnowledge[], { log, where }: CompareOptions): Promise<LedgerComparison> {
  const state = await readLedgerState(log);
  const is = state.identity;
  const known = all.flatMap(({ source, identity }) => (identity === null ? [] : [{ source, identity }]));
  if (is !== null) {
    const other = known.find(({ identity }) => identity.ledgerId !== is.ledgerId);
    if (other !== undefined)
      return { type: 'other ledger', error: otherLedger(where, other.source, other.identity, is) };
    if (known.some(({ identity }) => identity.generation < is.generation))
      return { type: 'later generation', state, identity: is };
  }
  const found = await findLost(log, all);
  const hasLost = found.lost.length > 0;
  // What was written before there were identities may be of before a loss that was accepted: this tells.
  if (is !== null && is.generation > 1 && known.length === 0 && hasLost)
    return { type: 'later generation', state, identity: is };
  if (hasLost) return { type: 'lost', state, ...found, error: ledgerLost(where, found) };
  for (const { source, identity } of known) {
    if (is === null) return { type: 'lost', state, ...found, error: unidentified(where, source, identity) };
    if (identity.generation > is.generation)
      return { type: 'lost', state, ...found, error: olderGeneration(where, source, identity, is) };
  }
  return { type: 'whole', state };
}
