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
  const why = isMissing(folder)
    ? `the folder ${folder} is not there: make it first`
    : `cannot be written: ${wantOfDiskOf(error, out) ?? error.message}`;
  return new CommandError(`${out}: ${why}`, EXIT.unavailable);
}
