import { existsSync } from 'node:fs';
import { ToldShortageError } from '../../../contracts/shortage.ts';
import { isFolderLocked, lockFolder } from '../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { askGateway } from '../../operator-requests/ask-gateway.ts';
import type { Asked } from '../../operator-requests/operator-request.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';

/** A gateway reads on to the newest event first, and waits for whoever reads its views' file. */
const ANSWER_MS = 120_000;

/**
 * Has the gateway on a data folder do something; where none runs, or it ends before it has answered, `work` does it, with the
 * folder locked. @throws CommandError; ToldShortageError where its disk has no room; JournalError where a gateway has just started; what `work` throws
 */
export async function askOrDo(
  asked: Asked,
  { context, data }: { readonly context: CommandContext; readonly data: string },
  work: () => void,
): Promise<'in the gateway' | 'in the folder'> {
  const journal = journalFolder(data);
  const isThere = (): boolean => existsSync(journal) && isFolderLocked(journal);
  if (isThere()) {
    const answer = await askGateway(asked, { dataFolder: data, clock: context.clock, timeMs: ANSWER_MS, isThere });
    if (answer === 'busy')
      throw new CommandError('the gateway is being asked something else: run this again', EXIT.refused);
    if (answer === 'silent')
      throw new CommandError('the gateway on this folder does not answer: look at its log', EXIT.unavailable);
    if (answer !== 'gone') {
      if (answer.refused === null) return 'in the gateway';
      const refused = `the gateway goes on as it was: ${answer.refused}`;
      throw answer.shortage === undefined
        ? new CommandError(refused, EXIT.refused)
        : Object.assign(new ToldShortageError(refused, answer.shortage), { path: journal });
    }
  }
  const lock = existsSync(journal) ? lockFolder(journal) : null;
  try {
    work();
    return 'in the folder';
  } finally {
    lock?.release();
  }
}
