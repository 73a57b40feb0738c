import { join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';
import { IDENTITY_LIMITS } from './limits.ts';

/** Where the ledger is, as an operator is told. */
export const ledgerPlace = ({ eventLog, data }: Pick<Configuration, 'eventLog' | 'data'>): string =>
  eventLog.kind === 'sqlite' ? join(data, 'ledger.db') : 'EventStoreDB';

/** How often something missing is looked for there before it counts as lost: a file has no node that lags behind. */
export const looksFor = ({ eventLog }: Pick<Configuration, 'eventLog'>): number =>
  eventLog.kind === 'sqlite' ? 1 : IDENTITY_LIMITS.looks;
