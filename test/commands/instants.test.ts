import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let program: ProgramInProcess;
beforeAll(async () => {
  program = await programInProcess();
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  return () => program.close();
});

const NONE = [
  '2027-02-31',
  '2027-02-29',
  '2027-13-01',
  '2027-02-31T10:00:00Z',
  '2027-01-31T12:00:00+25:00',
  'tomorrow',
];

describe.each([
  ['credits grant', ['--usd', '5']],
  ['credits reinstate', ['--grant', 'grant_trial', '--reason', 'test']],
  ['key issue', []],
])('gateway %s', (name, more) => {
  it.each(NONE)('refuses --expires %s by the name of the option, and writes nothing', async (text) => {
    const before = await program.log.headPosition();
    await expect(program.run(...name.split(' '), 'acct_ada', ...more, '--expires', text)).rejects.toThrow(
      /--expires <instant>.*expected a date that there is/,
    );
    expect(await program.log.headPosition()).toBe(before);
  });
});

it.each([
  ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ['2099-01-31T12:00Z', '2099-01-31T12:00:00.000Z'],
  ['2099-01-31T12:00:30.5+01:00', '2099-01-31T11:00:30.500Z'],
])('%s is taken as %s', async (text, instant) => {
  const grant = `credits grant acct_ada --usd 5 --id grant_${Date.parse(text)} --expires ${text}`;
  await program.run(...grant.split(' '));
  expect(await program.run('account', 'show', 'acct_ada')).toContain(instant);
});

it('instants are read and printed as UTC, wherever the machine is', () => {
  const data = temporaryFolder();
  const run = (zone: string, ...words: readonly string[]): string =>
    execFileSync(process.execPath, [PROGRAM, ...words, '--data', data], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, TZ: zone },
    });
  const FAR = 'Pacific/Kiritimati';
  run(FAR, 'account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  const granted = run(FAR, 'credits', 'grant', 'acct_ada', '--usd', '5', '--expires', '2099-01-31');
  const [, recordedAt = ''] = /^written at (\S+Z)$/m.exec(granted) ?? [];
  expect(Math.abs(Date.now() - Date.parse(recordedAt))).toBeLessThan(3_600_000);
  const statement = ['ledger', 'replay', 'acct_ada'];
  const shown = run(FAR, ...statement);
  expect(shown).toContain(recordedAt.slice(0, 19).replace('T', ' '));
  expect(shown).toBe(run('UTC', ...statement));
  expect(run(FAR, 'account', 'show', 'acct_ada')).toContain('2099-01-31T00:00:00.000Z');
});
