import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountId, grantId, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { OPERATOR } from '../fixtures/ledger/actors.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Clears the screen, turns the direction, breaks the line, hides itself. */
const HOSTILE = 'x\u001b[2J\u009b2J\u202egnp.exe\u2066\u200b\r\n│ paid │';
const SHOWN = 'x\\u001b[2J\\u009b2J\\u202egnp.exe\\u2066\\u200b\\u000d\\u000a│ paid │';
const ADA = accountId('acct_ada');

describe('names and reasons that a terminal would obey', () => {
  const data = temporaryFolder();
  const run = (...args: string[]) => runHere(...args, '--data', data);
  beforeAll(async () => {
    const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
    const nowMs = Date.now();
    const execute = async (command: AccountCommand) => {
      expect(await executeCommand(log, ADA, command, OPERATOR, recordingBy(HOSTILE, nowMs))).toMatchObject({
        type: 'done',
      });
    };
    const opening = {
      kind: 'personal',
      email: 'ada@example.com',
      trial: microUsd(0n),
      trialGrantId: grantId('t'),
    } as const;
    await execute({ type: 'OpenAccount', accountId: ADA, ...opening, nowMs });
    const { sha256, last4, keyId: id } = newKey();
    const key = { sha256, last4, keyId: keyId(id), issuer: HOSTILE, expiresAtMs: null, monthlyLimit: null, nowMs };
    await execute({ type: 'IssueKey', ...key, name: HOSTILE, models: [HOSTILE] });
    await execute({ type: 'SuspendAccount', reason: HOSTILE });
    await log.close();
  });

  it.each([
    ['account', 'show', 'acct_ada'],
    ['key', 'list', 'acct_ada'],
    ['ledger', 'events', 'acct_ada'],
  ])('are shown escaped by `gateway %s %s`, in tables and in JSON, which keeps the value', async (...command) => {
    const { stdout, exitCode } = await run(...command);
    expect(exitCode).toBe(0);
    const shown = command[0] === 'ledger' ? 'x\\u001b[2J\\u009b2J\\u202egnp.exe\\u2066\\u200b\\r\\n│ paid │' : SHOWN;
    expect(stdout).toContain(shown);
    const json = await run('--json', ...command);
    expect(json.stdout).toContain('x\\u001b[2J\\u009b2J\\u202egnp.exe\\u2066\\u200b\\r\\n│ paid │');
    const parsed = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(JSON.stringify(parsed)).toContain(JSON.stringify(HOSTILE).slice(1, -1));
    for (const { stdout: printed } of [{ stdout }, json])
      expect(printed).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('are shown escaped in messages of errors', async () => {
    const file = join(data, 'bad.json');
    writeFileSync(file, JSON.stringify({ models: [{ id: 'x', '\u202e\u001b[2J': 1 }] }));
    const { stderr, exitCode } = await run('catalog', 'publish', file);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('\\u202e');
    expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  it('are escaped in the log of a program that stays up', async () => {
    const module = new URL('../../proxy/program/program-logger.ts', import.meta.url).href;
    const script = `import { programLogger } from ${JSON.stringify(module)};
      programLogger({ logLevel: 'info' }).info({ name: ${JSON.stringify(HOSTILE)} }, 'told');`;
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
    expect(JSON.parse(stderr)).toMatchObject({ name: HOSTILE, msg: 'told' });
    expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  });
});
