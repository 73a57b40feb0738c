import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

const { folder } = readKept('76ed563', 'sqlite', 'ledger');
const data = join(folder, 'data');
const report = join(temporaryFolder(), 'usage.csv');
writeFileSync(report, 'date,model,output_tokens\n2026-11-19,opal-medium,901\n');

/** What reads a ledger and writes nothing into it. */
const COMMANDS = [
  ['replay', 'acct_ada'],
  ['replay', 'acct_ada', '--at', '12', '--json'],
  ['explain', 'req_01a1f19f4401715eb15228a3e23acc85'],
  ['explain', 'req_past-1'],
  ['reconcile', report, '--provider', 'test', '--no-record'],
  ['report', '--month', '2026-11', '--json'],
];

describe.each(COMMANDS.map((words) => [words.slice(0, 2).join(' '), words] as const))('ledger %s', (_what, words) => {
  it('says the same of a file without a configuration as of the ledger that it is of', async () => {
    const [file, none] = [join(data, 'ledger.db'), temporaryFolder()];
    const configured = await runHere('--data', data, 'ledger', ...words);
    expect(configured).toMatchObject({ exitCode: 0, stderr: '' });
    expect(configured.stdout.length).toBeGreaterThan(100);
    expect(await runHere('--data', none, 'ledger', ...words, '--offline', file)).toEqual(configured);
    expect(readdirSync(none)).toEqual([]);
  });

  it('refuses what is no file of a ledger', async () => {
    const said = await runHere('ledger', ...words, '--offline', report);
    expect(said).toMatchObject({ exitCode: 4, stdout: '' });
    expect(said.stderr).toContain(report);
  });
});

it('a reconciliation with a file is shown, and recorded nowhere', async () => {
  const file = join(data, 'ledger.db');
  const hash = () => createHash('sha256').update(readFileSync(file)).digest('hex');
  const before = hash();
  const words = ['ledger', 'reconcile', report, '--provider', 'test', '--offline', file, '--json'];
  const said = await runHere(...words);
  expect(JSON.parse(said.stdout)).toMatchObject({ recorded: 'no', counts: { theirsOnly: 0 } });
  expect(hash()).toBe(before);
});

it('a request that a file does not have is told, and no journal is looked for', async () => {
  const said = await runHere('ledger', 'explain', 'msg_none', '--offline', join(data, 'ledger.db'));
  expect(said).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(/: the ledger has no such request; /) });
});
