import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';
import { isFolderLocked } from '../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { type CommandCall, configurationOf } from '../command-context.ts';
import { type Examined, type Finding, fault, ok, onOneLine } from './finding.ts';
import { lookAtAccounts } from './look-at-accounts.ts';
import { lookAtGateway } from './look-at-gateway.ts';
import { lookAtKafka } from './look-at-kafka.ts';
import { lookAtLedger } from './look-at-ledger.ts';
import { lookAtCredentials, lookAtDescriptors, lookAtDisk, lookAtFolder } from './look-at-machine.ts';
import { lookAtPaying } from './look-at-paying.ts';
import { lookAtPayments, lookAtProvider } from './look-at-payments.ts';
import { lookAtUpstreams } from './look-at-upstreams.ts';

/** Everything, each look in its time: the machine, the ledger, and what is elsewhere at once. */
export async function examine(call: CommandCall, timeMs: number): Promise<Finding[]> {
  const configuration = configurationOrFault(call);
  if ('state' in configuration) return [configuration, await lookAtDescriptors(timeMs)];
  const lock = lockOf(configuration);
  const examined: Examined = { ...call, configuration, isServed: lock === 'taken', timeMs };
  const found = await Promise.all([
    { check: 'configuration', ...ok(configuration.file ?? 'no file: everything has its default') },
    lookAtCredentials(examined),
    lookAtPayments(examined),
    lookAtProvider(examined),
    lookAtPaying(examined),
    lookAtDescriptors(timeMs),
    lookAtFolder(examined),
    lookAtDisk(examined),
    typeof lock === 'string' ? lookAtGateway(examined) : lock,
    lookAtLedger(examined),
    lookAtAccounts(examined),
    lookAtKafka(examined),
    lookAtUpstreams(examined),
  ]);
  return found.flat();
}

function configurationOrFault({ context, command }: CommandCall): Configuration | Finding {
  try {
    return configurationOf(context, command);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return {
      check: 'configuration',
      ...fault(onOneLine(error.message), 'mend it, then look again: the rest depends on it'),
    };
  }
}

/** Whether a gateway has the data folder, or why that cannot be told. */
function lockOf({ data }: Configuration): 'taken' | 'free' | Finding {
  try {
    return isFolderLocked(journalFolder(data)) ? 'taken' : 'free';
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const says = `whether one runs on ${data} cannot be told: its lock cannot be read (${reason})`;
    return { check: 'gateway', ...fault(says, 'run this as the owner of the folder, or mend its rights') };
  }
}
