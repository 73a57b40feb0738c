import { describe } from 'vitest';
import { type LogFactory, useLog } from '../../fixtures/ledger/shared-log.ts';
import { describeAppendModel } from './contract/append-model.ts';
import { describeAppends } from './contract/appends.ts';
import { describeClosing } from './contract/closing.ts';
import { describeConcurrentAppends } from './contract/concurrent-appends.ts';
import { describeReads } from './contract/reads.ts';
import { describeRefusedAppends } from './contract/refused-appends.ts';
import { describeResumedSubscriptions } from './contract/resumed-subscriptions.ts';
import { describeSubscriptions } from './contract/subscriptions.ts';

export type { LogFactory, SharedLog } from '../../fixtures/ledger/shared-log.ts';

/**
 * What every adapter of the EventLog port keeps, word for word. It may run against a log that others use: stream names
 * are new in each test, the log need not be empty, and positions need not begin at 1 or follow one another.
 */
export function describeEventLogContract(name: string, factory: LogFactory): void {
  describe(`${name} keeps the event log's contract`, () => {
    const logs = useLog(factory);
    describeAppends(logs);
    describeRefusedAppends(logs);
    describeConcurrentAppends(logs);
    describeAppendModel(logs);
    describeReads(logs);
    describeSubscriptions(logs);
    describeResumedSubscriptions(logs);
    describeClosing(logs);
  });
}
