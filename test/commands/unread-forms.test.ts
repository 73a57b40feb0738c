import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { versionOf } from '../../contracts/event-upcasters.ts';
import { commandId, LEDGER_STREAM, NO_STREAM } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { proveLedger } from '../../proxy/program/ledger/proven-ledger.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const recording = {
  commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
  actor: 'gateway',
  recordedAt: '2026-11-05T10:20:31.001Z',
};

async function runOn(forms: Readonly<Record<string, number>>, args: readonly string[]) {
  const program = endedLater(await programInProcess());
  const folder = temporaryFolder();
  const log = await openSqliteEventLog({ path: join(folder, 'ledger.db') });
  const data = { forms, without: [], reason: 'every live claim reads them', actor: 'gateway' };
  await log.append(LEDGER_STREAM, NO_STREAM, encodeEvents([{ type: 'FormsAdopted', data }], recording));
  await log.close();
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data: folder, listen: { port: 0 }, logLevel: 'silent' }));
  let said = '';
  const context = {
    ...program.context,
    proveLedger: (...[log, configuration]: Parameters<CommandContext['proveLedger']>) =>
      proveLedger(log, configuration, Date.now),
    openEventLog: () => openSqliteEventLog({ path: join(folder, 'ledger.db') }),
    warn: (text: string) => {
      said += text;
    },
  };
  return { exitCode: await runGatewayProgram(context, ['--config', file, ...args]), said };
}

const own = versionOf('CreditsDebited');

it.each([[['serve']], [['account', 'list']], [['account', 'show', 'acct_ada']]])(
  'a program refuses a ledger that has adopted forms which it does not read, in one line that names them: %j',
  async (args) => {
    const { exitCode, said } = await runOn({ FormsAdopted: 1, CreditsDebited: own + 1, CreditsDoubled: 1 }, args);
    expect(said).toBe(
      'gateway: the ledger has adopted forms of events that this program does not read: ' +
        `CreditsDebited ${own + 1} (this program reads ${own}), CreditsDoubled 1 (this program does not read the type); start a newer one\n`,
    );
    expect(exitCode).toBe(3);
  },
);

it('a program works on a ledger that has adopted nothing but what it reads', async () => {
  expect(await runOn({ FormsAdopted: 1, CreditsDebited: own }, ['account', 'list'])).toEqual({ exitCode: 0, said: '' });
});
