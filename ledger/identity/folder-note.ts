import { readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ledgerIdField, requestIdField } from '../../contracts/event-fields.ts';
import { accountId, accountStream, eventId, type StreamName } from '../../contracts/ids.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import { replaceFile } from '../replace-file.ts';
import { UnreadableFileError } from '../unreadable-file.ts';
import { wantOfRightsOf } from '../want-of-rights.ts';
import type { LedgerKnowledge } from './known-ledger.ts';

/** The file in a data folder that says which ledger it belongs to. */
export const NOTE_FILE = 'ledger-id';

const noteSchema = z.strictObject({
  ledgerId: ledgerIdField,
  generation: z.int().min(1),
  /** The newest event that this folder's gateway had seen, as of a moment ago. */
  newest: z.strictObject({ stream: z.string(), revision: z.int().min(0), id: z.string() }).nullable(),
  /** Accounts in which its proxy has leased credit, and the revision of the newest lease. */
  leases: z.record(z.string(), z.int().min(0)),
  /** In the journal when this generation began: the revisions that they name are of the one before. */
  earlier: z.array(requestIdField),
});
export type FolderNote = z.infer<typeof noteSchema>;

/**
 * Null where there is none. One that says nothing is not taken for none: what it alone knew is gone, and whether what the
 * views and the journal know is enough is for an operator to say. @throws UnreadableFileError when the file is not of its form
 */
export function readNote(dataFolder: string): FolderNote | null {
  const file = join(dataFolder, NOTE_FILE);
  let text: string | null = null;
  try {
    text = readFileSync(file, 'utf8');
    return noteSchema.parse(JSON.parse(text));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    const lacking = wantOfRightsOf(cause);
    if (lacking !== null) throw new UnreadableFileError(lacking, { cause });
    throw new UnreadableFileError(
      `${file} ${whyUnread(text, cause)}; put it back as it was, or move it away: ${WHO_ELSE}`,
      {
        cause,
      },
    );
  }
}

const WHO_ELSE = 'without it, the views and the journal of the folder say what its ledger must have';

function whyUnread(text: string | null, cause: unknown): string {
  if (text === null) return `cannot be read (${cause instanceof Error ? cause.message : String(cause)})`;
  const isBlank = text.replaceAll('\0', '').trim() === '';
  const what = isBlank ? 'is empty, as a loss of power can leave a file' : 'is not of its form';
  return `${what}, and does not say which ledger the folder belongs to`;
}

/** On disk when it returns, whole or not at all. */
export const writeNote = (dataFolder: string, note: FolderNote): void =>
  replaceFile(join(dataFolder, NOTE_FILE), textOf(note));

/** The same without holding anybody up. On disk before it has its name: a loss of power leaves no empty note. One call at a time. */
export async function renewNote(dataFolder: string, note: FolderNote): Promise<void> {
  const file = join(dataFolder, NOTE_FILE);
  // Not the file that `writeNote` writes beside it, which may come in between.
  const next = `${file}.next`;
  await writeFile(next, textOf(note), { flush: true });
  giveToFolderOwner(next);
  await rename(next, file);
}

const textOf = (note: FolderNote): string => `${JSON.stringify(note)}\n`;

export function knowledgeOfNote({ ledgerId, generation, newest, leases }: FolderNote): LedgerKnowledge {
  const ofLeases = Object.entries(leases).map(([account, revision]) => ({
    stream: accountStream(accountId(account)),
    revision,
    id: null,
  }));
  const ofNewest = newest === null ? [] : [{ ...newest, stream: newest.stream as StreamName, id: eventId(newest.id) }];
  return { source: NOTE_FILE, identity: { ledgerId, generation }, events: [...ofNewest, ...ofLeases] };
}
