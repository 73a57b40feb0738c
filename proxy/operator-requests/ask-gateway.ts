import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { discardedOnSignal } from '../../ledger/discarded-on-signal.ts';
import { giveToFolderOwner } from '../../ledger/folder-owner.ts';
import { pause } from '../../ledger/pause.ts';
import { type Asked, readAnswer, readRequest, removeAnswer, removeRequest, requestFile } from './operator-request.ts';

const LOOK_MS = 50;

interface AskedGateway {
  readonly dataFolder: string;
  readonly clock: () => number;
  /** How long the answer is waited for. */
  readonly timeMs: number;
  /** Whether there is a gateway on the folder. */
  readonly isThere: () => boolean;
}

/** `gone`: it has ended before; `silent`: it has not answered in time; `busy`: it is being asked something else. */
type Answered = { readonly refused: string | null } | 'gone' | 'silent' | 'busy';

/**
 * Asks the gateway that has a data folder, by a file in it: there is no port for operators. Where a signal ends this program the
 * request is withdrawn, and what of it is under way with it. @throws Error of the file system
 */
export async function askGateway(
  asked: Asked,
  { dataFolder, clock, timeMs, isThere }: AskedGateway,
): Promise<Answered> {
  const id = randomUUID();
  const untilMs = clock() + timeMs;
  if (!place(dataFolder, { id, untilMs, asked }, clock())) return 'busy';
  const withdraw = (): void => removeRequest(dataFolder, id);
  return discardedOnSignal(withdraw, () => answered(id, { dataFolder, timeMs, isThere }));
}

async function answered(
  id: string,
  { dataFolder, timeMs, isThere }: Omit<AskedGateway, 'clock'>,
): Promise<Exclude<Answered, 'busy'>> {
  const signal = AbortSignal.timeout(timeMs);
  for (;;) {
    const answer = readAnswer(dataFolder);
    if (answer?.id === id) {
      removeAnswer(dataFolder);
      return { refused: answer.refused };
    }
    const gone = !isThere() ? 'gone' : signal.aborted ? 'silent' : null;
    if (gone !== null) {
      removeRequest(dataFolder, id);
      return gone;
    }
    await pause(LOOK_MS, signal);
  }
}

/** Whole or not at all, and beside nobody else's. */
function place(dataFolder: string, request: { id: string; untilMs: number; asked: Asked }, nowMs: number): boolean {
  const path = requestFile(dataFolder);
  const beside = `${path}.${request.id}`;
  writeFileSync(beside, JSON.stringify(request), { mode: 0o600, flag: 'wx' });
  giveToFolderOwner(beside);
  try {
    const before = readRequest(dataFolder);
    if (before !== null && before.untilMs < nowMs) rmSync(path, { force: true });
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(beside, { force: true });
  }
}
