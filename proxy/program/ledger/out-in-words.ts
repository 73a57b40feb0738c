import { dirname } from 'node:path';
import { TakenPathError } from '../../../ledger/export/out-file.ts';
import { isMissing } from '../../../ledger/named-file.ts';
import { wantOfDiskOf } from '../../../ledger/want-of-disk.ts';
import { CommandError, EXIT } from '../command-error.ts';

/** What is amiss with the file that a command was to write, in words; anything else as it is. */
export function outInWords(error: unknown, out: string): unknown {
  if (error instanceof TakenPathError) return new CommandError(error.message, EXIT.usage);
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const folder = dirname(out);
  if (isMissing(folder))
    return new CommandError(`${out}: the folder ${folder} is not there: make it first`, EXIT.usage);
  return new CommandError(`${out}: cannot be written: ${wantOfDiskOf(error, out) ?? error.message}`, EXIT.unavailable);
}
