import { expect, it } from 'vitest';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { OF_LEDGER, UNDO_TABLE } from './undo-table.ts';
import { commandNamed, wholeLine } from './whole-line.ts';

/** What opens, gives, sells and configures, and says who may what. A plan is as its owner asks, who may say why. */
const CORRECTS_NOTHING: readonly string[] = [
  ...['account open', 'account plan', 'credits grant', 'credits purchase', 'credits auto-reload'],
  ...['payment confirm', 'payment ask', 'payment save-method', 'payment remove-method'],
  ...['member add', 'member role', 'member remove', 'key issue', 'key rotate', 'key revoke', 'limit set'],
  ...['catalog publish', 'serve', 'relay'],
  ...['ledger forms', 'ledger keys', 'ledger copy', 'ledger reconcile', 'ledger restore'],
];

it('each command that writes, but those that correct nothing, is refused without a reason, and has written nothing', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  const gateway = await gatewayProgram(program.context);
  const writing = [...UNDO_TABLE.map(({ command }) => command), ...OF_LEDGER];
  expect(CORRECTS_NOTHING.filter((name) => !writing.includes(name))).toEqual([]);
  const correcting = writing.filter((name) => !CORRECTS_NOTHING.includes(name));
  expect(correcting.length).toBeGreaterThan(12);
  const head = await program.log.headPosition();
  for (const name of correcting) {
    const line = wholeLine(name, commandNamed(name, gateway), ['--reason']);
    await expect(program.run(...line), line.join(' ')).rejects.toMatchObject({
      code: 'commander.missingMandatoryOptionValue',
      message: expect.stringContaining("required option '--reason <text>'"),
    });
  }
  expect(await program.log.headPosition()).toBe(head);
});
