import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { accountId, accountStream, CATALOG_STREAM, NO_STREAM, type StreamName } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { runGatewayProgram } from '../../proxy/commands/run-gateway-program.ts';
import { temporaryFolder } from '../gateway/start-gateway.ts';
import { programInProcess } from './program-in-process.ts';

const ADA = accountStream(accountId('acct_ada'));
const LIST = ['account', 'list'];
const SHOW = ['account', 'show', 'acct_ada'];

it.each<[string, StreamName, readonly string[], readonly (readonly string[])[]]>([
  ['of the catalog with fields missing', CATALOG_STREAM, ['CatalogPublished', '{}'], [['catalog', 'show'], LIST]],
  ['that belongs elsewhere', CATALOG_STREAM, ['AccountSuspended', '{"reason":"x"}'], [['catalog', 'show'], LIST]],
  ['of a type that nobody knows', ADA, ['Surprise', '{}'], [SHOW, LIST]],
  ['of an account that belongs into the catalog', ADA, ['LedgerIdentified', '{}'], [SHOW, LIST]],
])(
  'an event %s ends what needs it with one clear message and code 4',
  async (_what, stream, [type = '', data = ''], commands) => {
    const program = await programInProcess();
    onTestFinished(() => program.close());
    const folder = temporaryFolder();
    const recording = { commandId: 'test', actor: 'test', recordedAt: '2026-11-05T10:20:31.001Z' };
    const bad = { id: '019a5b3c-0000-7000-8000-00000000000b', type, data };
    const metadata = JSON.stringify({ schemaVersion: 1, ...recording });
    const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
    onTestFinished(() => log.close());
    await log.append(stream, NO_STREAM, [{ ...bad, id: bad.id as never, metadata }]);
    const file = join(folder, 'gateway.json');
    writeFileSync(file, JSON.stringify({ data: folder, listen: { port: 0 }, logLevel: 'silent' }));
    for (const args of [...commands, ...(stream === CATALOG_STREAM ? [['serve']] : [])]) {
      let said = '';
      const context = {
        ...program.context,
        openEventLog: () => openSqliteEventLog({ path: join(folder, 'ledger.db') }),
        warn: (text: string) => {
          said += text;
        },
      };
      expect([args, await runGatewayProgram(context, ['--config', file, ...args]), said]).toEqual([
        args,
        4,
        expect.stringMatching(
          new RegExp(
            `^gateway: an event of the ledger cannot be read, and none is skipped: ${stream}(: | revision 0\\b).*\n.*\n$`,
          ),
        ),
      ]);
    }
  },
);
