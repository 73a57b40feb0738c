import { parseArgs } from 'node:util';
import { EventLogError } from '../../../../contracts/event-log.ts';
import type { StreamName } from '../../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { appendAnyhow, event, idsOf } from '../../../fixtures/ledger/shared-log.ts';

/** A process that appends to one file and reports each answer as a line of JSON as soon as it has it. */
export interface AppendReport {
  readonly stream: string;
  readonly ids: readonly string[];
  /** What became of it: `appended`, or the kind of the error. */
  readonly answer: string;
}

const { values, positionals: streams } = parseArgs({
  allowPositionals: true,
  options: {
    path: { type: 'string', default: '' },
    appenders: { type: 'string', default: '8' },
    appends: { type: 'string', default: '50' },
    events: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '100' },
  },
});

const log = await openSqliteEventLog({ path: values.path });
process.stdout.write('\n');
await Promise.all(Array.from({ length: Number(values.appenders) }, (_, index) => appendOnAndOn(index)));
await log.close();

async function appendOnAndOn(offset: number): Promise<void> {
  for (let count = 0; count < Number(values.appends); count++) {
    const stream = (streams[(offset + count) % streams.length] ?? 'missing') as StreamName;
    const proposed = Array.from({ length: Number(values.events) }, () => event('x'.repeat(Number(values.bytes))));
    const answer = await appendAnyhow(log, stream, proposed).then(() => 'appended', kindOf);
    const report: AppendReport = { stream, ids: idsOf(proposed), answer };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    if (answer !== 'appended') return;
  }
}

function kindOf(error: unknown): string {
  if (error instanceof EventLogError) return error.kind;
  throw error;
}
