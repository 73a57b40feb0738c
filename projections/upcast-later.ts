import { roomKeptBytes } from '../ledger/journal/kept-room.ts';
import { pause } from '../ledger/pause.ts';
import { freeBytesAt, mebibytes } from '../ledger/room-on-disk.ts';
import { upcastInThread } from './in-views-thread.ts';
import { VIEW_LIMITS } from './limits.ts';
import { freeBytesToUpcast } from './rebuild/room-to-rebuild.ts';
import { removeViews } from './remove-views.ts';
import { settledFile, switchFiles } from './switched-file.ts';
import type { OlderViews } from './view-disk.ts';
import type { ViewFiles } from './view-files.ts';

interface UpcastLaterParts {
  readonly files: ViewFiles;
  readonly dataFolder: string;
  /** Why it did not come to that, once for each reason in a row; it is tried on and on, as writing to a full disk is. */
  readonly onUnmade: (reason: string) => void;
  readonly onMade: (from: ReadonlyMap<string, number>) => void;
  /** Why those of before could not be given their name (switched-file.ts). */
  readonly onUnkept: (reason: string) => void;
}

export const upcastLater = (parts: UpcastLaterParts): OlderViews => ({
  async makeLater(goOver, signal) {
    let told: string | null = null;
    let pauseMs: number = VIEW_LIMITS.upcastPauseMs;
    for (;;) {
      await pause(pauseMs, signal);
      if (signal.aborted) return;
      const wanting = wantingRoom(parts);
      const reason = wanting ?? (await tried(parts, goOver, signal));
      if (reason === null || signal.aborted) return;
      if (reason !== told) parts.onUnmade(reason);
      told = reason;
      // A look costs nothing, and a try has read all of the views.
      pauseMs = wanting === null ? Math.min(2 * pauseMs, VIEW_LIMITS.upcastPauseMaxMs) : VIEW_LIMITS.upcastPauseMs;
    }
  },
});

function wantingRoom({ dataFolder }: UpcastLaterParts): string | null {
  const neededBytes = freeBytesToUpcast(dataFolder);
  return freeBytesAt(dataFolder) < neededBytes ? `${mebibytes(neededBytes, Math.ceil)} have to be free for it` : null;
}

/** Why it was in vain; null where it was not. */
async function tried(
  { files, dataFolder, onMade, onUnkept }: UpcastLaterParts,
  goOver: (move: () => void) => void,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const keepFreeBytes = roomKeptBytes(dataFolder);
    const from = await upcastInThread({ from: files.live, to: files.upcast, keepFreeBytes }, signal);
    // They are of an earlier version no more.
    if (from === null) return null;
    if ('notForNow' in from) return unmade(files, from.notForNow);
    await settledFile(files.live, AbortSignal.any([signal, AbortSignal.timeout(VIEW_LIMITS.upcastReadMs)]));
    goOver(() => {
      const unkept = switchFiles(files, files.upcast);
      if (unkept !== null) onUnkept(unkept);
    });
    onMade(from);
    return null;
  } catch (error) {
    return unmade(files, error instanceof Error ? error.message : String(error));
  }
}

function unmade(files: ViewFiles, reason: string): string {
  removeViews(files.upcast);
  return reason;
}
