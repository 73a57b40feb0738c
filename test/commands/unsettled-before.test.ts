import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { accountId, commandOfRequest, revision } from '../../contracts/ids.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { asideFolder } from '../../ledger/journal/aside-folder.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { writeParked } from '../../projections/parked-accounts.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { CARD, requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { startText } from '../fixtures/ledger/journal-texts.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const ADA = accountId('acct_ada');
const WHY = ['--reason', 'it was wrong', '--actor', 'grace'];
const AT = '2026-11-06T12:00:00.000Z';
const ENDS = '2026-11-06T13:00:00.000Z';
const LATER = '2026-11-06T17:00:00.000Z';
const IS_OVER = `grant ends is over since ${ENDS}, and a request from before that waits in the journal of`;

let program: ProgramInProcess;
let data: string;
/** A grant that has ended, with something left; of it a request was debited, and a part was revoked. */
beforeEach(async () => {
  program = endedLater(await programInProcess());
  data = dirname(program.file);
  program.clock = () => Date.parse(AT);
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ADA, '--trial-usd', '0');
  const ends = ['--usd', '5', '--id', 'ends', '--source', 'promotion', '--expires', ENDS];
  await program.run('credits', 'grant', ADA, ...ends);
  const command = { type: 'RecordUsage', usage: usageOf(1, 400, { startedAt: AT }), card: CARD } as const;
  const recording = { commandId: commandOfRequest(requestOf(1)), actor: 'gateway', recordedAt: AT };
  await executeCommand(program.log, ADA, command, SYSTEM, recording);
  await program.run('credits', 'revoke', ADA, '--grant', 'ends', '--usd', '1', '--id', 'revoked', ...WHY);
  program.clock = () => Date.parse(LATER);
});

async function begun(startedAt: string, { of = ADA, isAside = false } = {}): Promise<void> {
  const folder = journalFolder(data);
  mkdirSync(folder, { recursive: true });
  const { journal } = await openJournal({ directory: isAside ? asideFolder(folder) : folder, reserveBytes: 4_096 });
  journal.begin(requestOf(2), startText(of, revision(0), usageOf(2, 3, { startedAt })));
  await journal.close();
}
const revisionNow = async () => (await loadAccount(program.log, ADA)).revision;

const GIVE_BACK = [
  ['debit', 'reverse', requestOf(1), ...WHY],
  ['credits', 'restore', ADA, '--revocation', 'revoked', ...WHY],
];

it.each(GIVE_BACK)('%s %s writes nothing off that a request in the journal may burn yet', async (...giveBack) => {
  await begun('2026-11-06T12:59:59.999Z');
  const before = await revisionNow();
  await expect(program.run(...giveBack)).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: `acct_ada: ${IS_OVER} ${data}, to be debited from it first: its gateway settles it as it runs, then run this again`,
  });
  expect(await revisionNow()).toBe(before);
});

it.each(GIVE_BACK)('%s %s says how an account is unparked whose requests wait', async (...giveBack) => {
  await begun(AT, { isAside: true });
  writeParked(data, ADA, 'it looks wrong');
  const unpark = `gateway projections unpark acct_ada --config ${program.file}`;
  await expect(program.run(...giveBack)).rejects.toThrow(`first: end the parking (${unpark}), then run this again`);
});

it.each([
  ['none', async () => undefined],
  ['one that began as the grant was over', () => begun(ENDS)],
  ["another account's", () => begun(AT, { of: accountId('acct_other') })],
])('what is left is written off where there waits %s', async (_, waits) => {
  await waits();
  const before = await revisionNow();
  for (const giveBack of GIVE_BACK) await program.run(...giveBack);
  expect(await revisionNow()).toBe(before + 3);
});

it('what writes nothing off does not look there', async () => {
  await begun(AT);
  await program.run('credits', 'grant', ADA, '--usd', '1', '--source', 'promotion', '--expires', '2026-12-01');
});
