import { resolve } from 'node:path';
import { Option } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import { withLogFile } from '../../../ledger/event-log/sqlite/log-file.ts';
import { assertThere, pathArgument } from '../command-arguments.ts';
import { type CommandCall, withReadLog } from '../command-context.ts';

export const offlineOption = (): Option =>
  new Option(
    '--offline <file>',
    "instead of the configured ledger an SQLite ledger's file, such as a copy: it is only read, and needs no configuration",
  ).argParser(pathArgument);

/**
 * For work that writes nothing: on the configured ledger or, where a file is named, on that alone, of which there is no
 * configuration. @throws EventLogError for what is no file of a ledger; CommandError
 */
export async function withLedger<T>(
  offline: string | undefined,
  { context, command }: CommandCall,
  work: (log: ReadableLog, configuration: Configuration | null) => Promise<T>,
): Promise<T> {
  return offline === undefined
    ? withReadLog(context, command, work)
    : withLogFile(offlineFile(offline), (log) => work(log, null));
}

/** What `--offline` names. @throws CommandError where it is not there */
export function offlineFile(offline: string): string {
  assertThere(offline, '--offline');
  return resolve(offline);
}
