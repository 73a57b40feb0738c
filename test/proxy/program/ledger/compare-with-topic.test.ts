import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { compareWithTopic } from '../../../../proxy/program/ledger/compare-with-topic.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

it('a topic whose brokers need a file that is not there is no topic that does not tell: nothing is compared without it', async () => {
  const data = temporaryFolder();
  const file = join(data, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data, kafka: { brokers: ['127.0.0.1:1'], ssl: { caFile: './none' } } }));
  const configuration = readConfiguration({ file, environment: {}, callsProviders: false });
  const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
  const told: string[] = [];
  const compared = compareWithTopic(
    log,
    { folder: { note: null, all: [], identity: null, viewsDamage: null }, configuration },
    (why) => told.push(why),
  );
  await expect(compared).rejects.toThrow(`${file}:\n  kafka.ssl.caFile: ${join(data, 'none')} does not exist`);
  expect(told).toEqual([]);
});
