import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CATALOG_STREAM, NO_STREAM, type StreamName } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ADA = 'account-acct_ada' as StreamName;
const LIST = ['account', 'list'];

const OF_CATALOG =
  '^gateway: an event of the ledger cannot be read, and none is skipped: catalog(: | revision 0\\b).*\n.*\n$';
const OF_ADA = 'acct_ada: the account is set aside: account-acct_ada revision 0 .*';

/** Carries out a command on a ledger of one event. */
async function onLedgerOf(stream: StreamName, type: string, data: string) {
  const program = endedLater(await programInProcess());
  const folder = temporaryFolder();
  const recording = { commandId: 'test', actor: 'test', recordedAt: '2026-11-05T10:20:31.001Z' };
  const bad = { id: '019a5b3c-0000-7000-8000-00000000000b' as never, type, data };
  const metadata = JSON.stringify({ schemaVersion: 1, ...recording });
  const log = endedLater(await openSqliteEventLog({ path: join(folder, 'ledger.db') }));
  await log.append(stream, NO_STREAM, [{ ...bad, metadata }]);
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data: folder, listen: { port: 0 }, logLevel: 'silent' }));
  return async (...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> => {
    let said = '';
    const context = {
      ...program.context,
      openEventLog: () => openSqliteEventLog({ path: join(folder, 'ledger.db') }),
      warn: (text: string) => {
        said += text;
      },
    };
    return { code: await runGatewayProgram(context, ['--config', file, ...args]), said };
  };
}

it.each([
  ['with fields missing', 'CatalogPublished', '{}'],
  ['that belongs elsewhere', 'AccountSuspended', '{"reason":"x"}'],
])('an event of the catalog %s ends what needs it with one clear message and code 4', async (_what, type, data) => {
  const run = await onLedgerOf(CATALOG_STREAM, type, data);
  for (const args of [['catalog', 'show'], LIST, ['serve']])
    expect([args, await run(...args)]).toEqual([
      args,
      { code: 4, said: expect.stringMatching(new RegExp(OF_CATALOG)) },
    ]);
});

it.each([
  ['of a type that nobody knows', 'Surprise'],
  ['that belongs into the catalog', 'LedgerIdentified'],
])(
  'an event of an account %s ends what needs the account with code 3, and is told by what lists all',
  async (_what, type) => {
    const run = await onLedgerOf(ADA, type, '{}');
    const asked = [
      ['account', 'show', 'acct_ada'],
      ['key', 'list', 'acct_ada'],
      ['credits', 'grant', 'acct_ada', '--usd', '1'],
      ['account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada'],
    ];
    for (const args of asked)
      expect([args, await run(...args)]).toEqual([
        args,
        { code: 3, said: expect.stringMatching(new RegExp(`^gateway: ${OF_ADA}\n.*\n$`)) },
      ]);
    const { code, said } = await run(...LIST);
    expect([code, said]).toEqual([0, expect.stringMatching(new RegExp(`^warning: ${OF_ADA}\n$`))]);
  },
);
