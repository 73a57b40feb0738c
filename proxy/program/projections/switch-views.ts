import { existsSync, statSync } from 'node:fs';
import type { Configuration } from '../../../contracts/configuration.ts';
import { isFolderLocked, lockFolder } from '../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { finishSwitch, switchFiles } from '../../../projections/switched-file.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { askGateway } from '../../operator-requests/ask-gateway.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';

/** A gateway has the views up to the second by then: it reads on, and waits for whoever reads its file. */
const SWITCH_MS = 120_000;

/** Puts other views of the folder in the place of the live ones, in the gateway that runs or, where none does, in the folder. @throws CommandError */
export async function switchViews(
  context: CommandContext,
  { data }: Configuration,
  to: 'rebuild' | 'previous',
): Promise<'in the gateway' | 'in the folder'> {
  const files = viewFilesOf(data);
  const candidate = statSync(files[to]).ino;
  const journal = journalFolder(data);
  const isThere = (): boolean => existsSync(journal) && isFolderLocked(journal);
  if (isThere()) {
    const asking = { dataFolder: data, clock: context.clock, timeMs: SWITCH_MS, isThere };
    const answer = await askGateway({ type: 'switch-views', to }, asking);
    if (answer === 'busy')
      throw new CommandError('the gateway is being asked something else: run this again', EXIT.refused);
    if (answer === 'silent')
      throw new CommandError('the gateway on this folder does not answer: look at its log', EXIT.unavailable);
    if (answer !== 'gone') {
      if (answer.refused === null) return 'in the gateway';
      throw new CommandError(`the gateway serves from the views that it had: ${answer.refused}`, EXIT.refused);
    }
  }
  const lock = existsSync(journal) ? lockFolder(journal) : null;
  try {
    finishSwitch(files);
    // A gateway that ended in the middle of it has done it.
    if (statSync(files.live, { throwIfNoEntry: false })?.ino === candidate) return 'in the gateway';
    switchFiles(files, files[to]);
    return 'in the folder';
  } finally {
    lock?.release();
  }
}
