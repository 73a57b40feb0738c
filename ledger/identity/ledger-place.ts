import { join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';

/** Where the ledger is, as an operator is told. */
export const ledgerPlace = ({ eventLog, data }: Pick<Configuration, 'eventLog' | 'data'>): string =>
  eventLog.kind === 'sqlite' ? join(data, 'ledger.db') : 'EventStoreDB';
