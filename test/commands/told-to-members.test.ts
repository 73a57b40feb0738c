import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountId, accountStream, eventId, revision } from '../../contracts/ids.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { COMMANDS } from './account-commands.ts';

const NONE = (id: string): string => `gateway: ${id}: there is no such account\n`;
const EVE = accountStream(accountId('acct_eve'));

let program: ProgramInProcess;
beforeAll(async () => {
  program = endedLater(await programInProcess(), afterAll);
  for (const name of ['ada', 'eve'])
    await program.run('account', 'open', '--email', `${name}@example.com`, '--id', `acct_${name}`);
  const events = await Array.fromAsync(program.log.readStream(EVE));
  const unknown = { id: eventId(randomUUID()), type: 'NeverHeardOf', data: '{}', metadata: '{"schemaVersion":9}' };
  await program.log.append(EVE, revision(events.length - 1), [unknown]);
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
});
