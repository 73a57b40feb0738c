import { join } from 'node:path';
import type { LedgerIdentity } from '../contracts/ledger-identity.ts';
import { type FolderNote, knowledgeOfNote, readNote } from '../ledger/identity/folder-note.ts';
import { knowledgeOfJournal } from '../ledger/identity/journal-knowledge.ts';
import type { LedgerKnowledge } from '../ledger/identity/known-ledger.ts';
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
