import { expect, it } from 'vitest';
import { accountId, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { OPERATOR } from '../fixtures/ledger/actors.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';

it('many accounts are listed in blocks, each written before the next is looked at', async () => {
  const program = endedLater(await programInProcess());
  const nowMs = Date.now();
  const recorded = { actor: 'test', recordedAt: new Date(nowMs).toISOString() };
  const opening = {
    kind: 'personal',
    email: 'ada@example.com',
    trial: microUsd(1n),
    trialGrantId: grantId('t'),
  } as const;
  for (let at = 0; at < 250; at++) {
    const id = accountId(`acct_${at}`);
    const recording = { ...recordingBy('test', nowMs), ...recorded };
    await executeCommand(
      program.log,
      id,
      { type: 'OpenAccount', accountId: id, ...opening, nowMs },
      OPERATOR,
      recording,
    );
  }
  for (const options of [[], ['--json']]) {
    const written: string[] = [];
    const context = {
      ...program.context,
      openEventLog: program.context.openEventLog,
      write: (text: string) => written.push(text),
    };
    await (await gatewayProgram(context)).parseAsync(['--config', program.file, ...options, 'account', 'list'], {
      from: 'user',
    });
    expect(written.map((text) => (text.match(/acct_/g) ?? []).length)).toEqual([100, 100, 50, 0]);
  }
});
