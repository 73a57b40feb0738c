import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { accountId, accountStream, eventId, revision } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { ledgerLost } from '../../ledger/identity/ledger-lost.ts';
import { JournalError } from '../../ledger/journal/journal-error.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { ViewGapError } from '../../projections/view-gap-error.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { COMMANDS } from './account-commands.ts';

/** What a member is told, beside an answer or in its place, where something is wrong that is of another account, or of all of them. */
const ADA = ['--as', 'ada@example.com'];
/** In no account. */
const ZOE = ['--as', 'zoe@example.com'];
const UNRELIABLE = 'the ledger cannot be relied on now: an operator has to look';
const NONE = (id: string): string => `gateway: ${id}: there is no such account\n`;
/** Of others, or of the operators' machine. */
const NOT_FOR_MEMBERS = /acct_eve|gateway\.json|ledger\.db|views\.db|accept-loss|revision/;
const EVE = accountStream(accountId('acct_eve'));

const lost = ledgerLost('/data/ledger.db', {
  lost: [
    {
      ...{ stream: EVE, revision: revision(7), id: null, knownBy: ['views.db'] },
      ...{ end: revision(1), sharedAtLeast: revision(-1), sharedAtMost: revision(1), isReplaced: false },
    },
  ],
  untold: 0,
});

let program: ProgramInProcess;
beforeAll(async () => {
  program = endedLater(await programInProcess(), afterAll);
  for (const name of ['ada', 'eve'])
    await program.run('account', 'open', '--email', `${name}@example.com`, '--id', `acct_${name}`);
  const events = await Array.fromAsync(program.log.readStream(EVE));
  const unknown = { id: eventId(randomUUID()), type: 'NeverHeardOf', data: '{}', metadata: '{"schemaVersion":9}' };
  await program.log.append(EVE, revision(events.length - 1), [unknown]);
});
beforeEach(() => {
  program.ledger = { isWhole: true, error: null };
});

/** A command line as its process ends and what it says beside its answer. */
async function told(given: Partial<CommandContext>, ...args: readonly string[]) {
  const before = program.warned.length;
  const exitCode = await runGatewayProgram({ ...program.context, ...given }, ['--config', program.file, ...args]);
  return { exitCode, stderr: program.warned.slice(before) };
}

const lineOf = (name: string, id: string): string[] => [...name.split(' '), id, ...(COMMANDS[name] ?? []).slice(1)];
const NAMES = Object.keys(COMMANDS);

describe('an account that an event has set aside', () => {
  it.each([...NAMES, 'exception list'])('is refused by `%s`, which says why', async (name) => {
    expect(await told({}, ...lineOf(name, 'acct_eve'))).toEqual({
      exitCode: 3,
      stderr: expect.stringMatching(
        /^gateway: acct_eve: the account is set aside: account-acct_eve revision \d+ \(Never/,
      ),
    });
  });

  it.each(NAMES)('is none to whoever was its owner, by `%s`', async (name) => {
    const line = lineOf(name, 'acct_eve');
    expect(await told({}, ...line, '--as', 'eve@example.com')).toEqual({ exitCode: 3, stderr: NONE('acct_eve') });
  });

  it.each(NAMES)('is not told of to the owner of another one, by `%s`', async (name) => {
    expect((await told({}, ...lineOf(name, 'acct_ada'), ...ADA)).stderr).not.toMatch(NOT_FOR_MEMBERS);
  });
});

it.each(NAMES)('of a ledger that is lost a member is told that alone, with the same code, by `%s`', async (name) => {
  program.ledger = { isWhole: false, error: lost };
  const [line, ofNone] = [lineOf(name, 'acct_ada'), lineOf(name, 'acct_none')];
  const toOperator = await told({}, ...line);
  expect(toOperator.stderr).toContain(lost.message);
  const toMember = await told({}, ...line, ...ADA);
  const isRefused = toOperator.stderr.startsWith('gateway: ');
  expect(toMember).toEqual({
    exitCode: toOperator.exitCode,
    stderr: isRefused ? `gateway: ${UNRELIABLE}\n` : `warning: ${UNRELIABLE}\n`,
  });
  expect(await told({}, ...ofNone, ...ZOE)).toEqual({
    exitCode: 3,
    stderr: isRefused ? toMember.stderr : toMember.stderr + NONE('acct_none'),
  });
});

it.each(NAMES)('of views that are damaged, which change no answer, a member is told nothing, by `%s`', async (name) => {
  program.ledger = { isWhole: false, error: null, warning: '/data/views.db cannot be read as views (acct_eve)' };
  const line = lineOf(name, 'acct_ada');
  expect((await told({}, ...line)).stderr).toContain('warning: /data/views.db');
  expect((await told({}, ...line, ...ADA)).stderr).not.toMatch(NOT_FOR_MEMBERS);
});

it.each([
  ['a log that is amiss', new EventLogError('unavailable', `ledger.db: ${EVE} is amiss`), 4],
  ['an event that cannot be read', new UnreadableEventError(`${EVE} revision 3: not JSON`), 4],
  ['a journal that cannot be read', new JournalError('foreign_file', 'requests of acct_eve'), 4],
  ['a file that cannot be read', new UnreadableFileError('/data/views.db: acct_eve'), 4],
  ['what nobody has foreseen', new ViewGapError(EVE, { last: revision(3), found: revision(5) }), 1],
])('of %s a member is told that alone, with the same code', async (_what, error, exitCode) => {
  const openEventLog = () => Promise.reject(error);
  for (const name of ['account show', 'key issue', 'payment ask', 'plan list']) {
    const line = name === 'plan list' ? ['plan', 'list'] : lineOf(name, 'acct_ada');
    const toOperator = await told({ openEventLog }, ...line);
    expect(toOperator).toEqual({ exitCode, stderr: expect.stringContaining(error.message) });
    expect(await told({ openEventLog }, ...line, ...ADA)).toEqual({ exitCode, stderr: `gateway: ${UNRELIABLE}\n` });
  }
});

it('a member whose command may have been carried out is told that, too', async () => {
  const openEventLog = () => Promise.reject(new EventLogError('ambiguous', `${EVE}: no answer`));
  expect(await told({ openEventLog }, 'key', 'issue', 'acct_ada', ...ADA)).toEqual({
    exitCode: 4,
    stderr: `gateway: ${UNRELIABLE}\nIt may have been done: look before you repeat it.\n`,
  });
});
