import { mkdirSync } from 'node:fs';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { accountId } from '../../../../contracts/ids.ts';
import { isFolderLocked, lockFolder } from '../../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../../ledger/journal/segment-folder.ts';
import { OperatorDesk } from '../../../../proxy/operator-requests/operator-desk.ts';
import { requestFiles, writeRequest } from '../../../../proxy/operator-requests/operator-request.ts';
import type { CommandContext } from '../../../../proxy/program/command-context.ts';
import { askOrDo } from '../../../../proxy/program/projections/ask-or-do.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const asked = { type: 'unpark', accountId: accountId('acct_a') } as const;
const context = { clock: Date.now } as CommandContext;

/** A data folder with a journal, and how often the command has done the work itself, and with the journal locked. */
function site() {
  const data = temporaryFolder();
  const journal = journalFolder(data);
  mkdirSync(journal);
  const done: boolean[] = [];
  const run = () => askOrDo(asked, { context, data }, () => void done.push(isFolderLocked(journal)));
  return { data, journal, done, run };
}

/** As a gateway has it. */
function taken(journal: string) {
  const lock = lockFolder(journal);
  onTestFinished(() => lock.release());
  return lock;
}

it('where no gateway runs the command does the work, and none can start meanwhile', async () => {
  const { journal, done, run } = site();
  expect(await run()).toBe('in the folder');
  expect([done, isFolderLocked(journal)]).toEqual([[true], false]);
});

it.each([
  ['does it', null],
  ['does not do it: the command says why not, and leaves all as it was', 'the log is away'],
])('where one runs that %s', async (_what, refused) => {
  const { data, journal, done, run } = site();
  taken(journal);
  const desk = new OperatorDesk({
    ...{ dataFolder: data, clock: Date.now, logger: pino({ level: 'silent' }), isAwaited: () => true },
    carryOut: async () => {
      if (refused !== null) throw new Error(refused);
    },
  });
  endedLater(desk).start();
  if (refused === null) expect(await run()).toBe('in the gateway');
  else await expect(run()).rejects.toMatchObject({ message: expect.stringContaining(refused), exitCode: 3 });
  expect(done).toEqual([]);
});

it('where one runs that is being asked something else, the command does nothing', async () => {
  const { data, journal, done, run } = site();
  taken(journal);
  writeRequest(requestFiles(data, 'other'), { id: 'other', untilMs: Date.now() + 600_000, asked });
  await expect(run()).rejects.toMatchObject({ message: expect.stringContaining('something else'), exitCode: 3 });
  expect(done).toEqual([]);
});
