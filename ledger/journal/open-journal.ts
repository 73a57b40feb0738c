import { existsSync } from 'node:fs';
import { asideFolder, withKeptAside } from './aside-folder.ts';
import type { FolderLock } from './folder-lock.ts';
import type { Journal } from './journal.ts';
import { JournalWithAside } from './journal-with-aside.ts';
import { ASIDE_RESERVE_BYTES, checkedBounds, JOURNAL_BOUNDS, type JournalBounds } from './limits.ts';
import { type OpenedSegments, openSegments } from './open-segments.ts';

/** Whoever has the first folder has what lies beside it. */
const LOCKED_WITH_THE_FIRST: FolderLock = { release: () => undefined };

interface JournalOptions extends Partial<JournalBounds> {
  /** A folder of its own; made where it is missing. */
  readonly directory: string;
}

/** The same of both folders; each request once, those kept aside first. */
export interface OpenedJournal extends Omit<OpenedSegments, 'journal'> {
  readonly journal: Journal;
}

/**
 * Opens the journal in a folder, for this process alone, and recovers what a crash left in it and beside it.
 * @throws JournalError `in_use`; `foreign_file` or `newer_version`, before anything in the folder is changed.
 */
export async function openJournal({ directory, ...given }: JournalOptions): Promise<OpenedJournal> {
  const bounds = checkedBounds({ ...JOURNAL_BOUNDS, ...given });
  const aside = asideFolder(directory);
  const asideBounds = checkedBounds({ ...bounds, reserveBytes: Math.min(bounds.reserveBytes, ASIDE_RESERVE_BYTES) });
  const openAside = (): Promise<OpenedSegments> => openSegments(aside, asideBounds, () => LOCKED_WITH_THE_FIRST);
  const main = await openSegments(directory, bounds);
  try {
    const kept = existsSync(aside) ? await openAside() : null;
    const journal = new JournalWithAside({
      main: main.journal,
      aside: kept?.journal ?? null,
      openAside: async () => (await openAside()).journal,
      lookMs: bounds.reserveLookMs,
    });
    if (kept === null) return { ...main, journal };
    return {
      journal,
      recovered: withKeptAside(main.recovered, kept.recovered),
      damaged: [...main.damaged, ...kept.damaged],
      cutBytes: main.cutBytes + kept.cutBytes,
    };
  } catch (error) {
    await main.journal.close();
    throw error;
  }
}
