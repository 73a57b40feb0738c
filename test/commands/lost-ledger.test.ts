import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeEach, describe, expect, it } from 'vitest';
import { ledgerLost } from '../../ledger/identity/ledger-lost.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** What each command does with a ledger that has lost events that the data folder knows of. */
const REPORT = new URL('./provider-usage.csv', import.meta.url).pathname;
const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const BACKUP = join(temporaryFolder(), 'backup');
const REASON = ['--reason', 'test'];
const WRITING: readonly (readonly [string, readonly string[]])[] = [
  ['account open', ['--email', 'bob@example.com']],
  ['account suspend', ['acct_ada', ...REASON]],
  ['account plan', ['acct_ada', 'none']],
  ['account reinstate', ['acct_ada', ...REASON]],
  ['credits grant', ['acct_ada', '--usd', '5']],
  ['credits reinstate', ['acct_ada', '--grant', 'grant_trial', ...REASON]],
  ['credits revoke', ['acct_ada', '--grant', 'grant_trial', ...REASON]],
  ['credits restore', ['acct_ada', '--revocation', 'revocation_1', ...REASON]],
  ['credits purchase', ['acct_ada', '--usd', '5']],
  ['credits auto-reload', ['acct_ada', '--off']],
  ['payment save-method', ['acct_ada', '--id', 'mandate', '--brand', 'sepa', '--last4', '0000']],
  ['payment remove-method', ['acct_ada']],
  ['payment ask', ['acct_ada']],
  ['payment confirm', ['acct_ada']],
  ['payment decline', ['acct_ada', ...REASON]],
  ['payment refund', ['acct_ada', 'pi_1', '--usd', '1', ...REASON]],
  ['payment withdraw-refund', ['acct_ada', 'pi_1', '--id', 'r', ...REASON]],
  ['payment dispute', ['acct_ada', 'pi_1', '--usd', '1', '--id', 'd', ...REASON]],
  ['payment close-dispute', ['acct_ada', 'pi_1', '--id', 'd', '--outcome', 'won', ...REASON]],
  ['debit reverse', ['req_0123', '--account', 'acct_ada', ...REASON]],
  ['balance adjust', ['acct_ada', '--up', '5', ...REASON]],
  ['key issue', ['acct_ada']],
  ['key rotate', ['acct_ada', 'key_0123456789abcdef']],
  ['member add', ['acct_ada', 'ben@example.com']],
  ['member role', ['acct_ada', 'ben@example.com', 'admin']],
  ['member remove', ['acct_ada', 'ben@example.com']],
  ['key revoke', ['acct_ada', 'key_0123456789abcdef']],
  ['limit set', ['acct_ada', '--usd', '5']],
  ['ledger forms', ['--adopt']],
  ['catalog publish', [CATALOG]],
  ['exception approve', ['req_0123', '--account', 'acct_ada', ...REASON]],
  ['exception drop', ['req_0123', '--account', 'acct_ada', ...REASON]],
  ['ledger reconcile', [REPORT, '--provider', 'acme']],
  ['ledger keys rotate', []],
  ['ledger copy', ['--to', 'esdb://127.0.0.1:1']],
  ['relay', []],
  ['relay fill', ['ledger-2']],
];
const READING: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['account list', [], /acct_ada/],
  ['account show', ['acct_ada'], /acct_ada/],
  ['account usage', ['acct_ada'], /acct_ada has used nothing/],
  ['account statement', ['acct_ada', '--month', '2026-11'], /closing balance/],
  ['key list', ['acct_ada'], /ends in/],
  ['member list', ['acct_ada'], /ada@example\.com/],
  ['payment list', ['acct_ada'], /attempt/],
  ['catalog show', [], /no catalog/],
  ['plan list', [], /no plans/],
  ['catalog diff', [CATALOG], /catalog version 0 would become version/],
  ['catalog history', [], /no catalog/],
  ['exception list', [], /account/],
  ['ledger events', ['acct_ada'], /AccountOpened/],
  ['ledger forms', [], /to be adopted: nothing/],
  ['ledger replay', ['acct_ada'], /opened as a personal account/],
  ['ledger verify', ['--all'], /no fault/],
  ['ledger verify', ['--seals'], /nothing is sealed/],
  ['ledger export', ['--format', 'ndjson'], /AccountOpened/],
  ['ledger report', ['--month', '2026-11'], /Books of 2026-11/],
  ['ledger keys', [], /no key has been introduced/],
  ['projections status', [], /there are no views yet/],
  ['projections park', ['acct_ada', ...REASON], /is parked in the folder/],
  ['ledger backup', [BACKUP], /verified/],
];
/** What they are asked for is not there, or no more. */
const IN_VAIN: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['ledger explain', ['req_0123'], /no such request/],
  ['ledger prove', ['0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'], /nothing is sealed/],
  ['ledger seal-digest', [], /no seal/],
  ['projections diff', ['--all'], /the views know another ledger/],
  ['projections rebuild', ['--all'], /the views know another ledger/],
  ['projections rollback', [], /the views know another ledger/],
  ['projections unpark', ['acct_ada'], /is not parked here/],
];
/** They look themselves at which ledger it is; the last two read none. */
const OTHERS = ['serve', 'doctor', 'ledger accept-loss', 'ledger restore', 'ledger check-proof', 'completion'];

const lost = ledgerLost('ledger.db', {
  lost: [
    {
      ...{ stream: 'account-acct_ada' as never, revision: 7, id: null, knownBy: ['views.db'] },
      ...{ end: 1, sharedAtLeast: -1, sharedAtMost: 1, isReplaced: false },
    },
  ],
  untold: 0,
});

let program: ProgramInProcess;

beforeEach(async () => {
  program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  program.ledger = { isWhole: false, error: lost };
});

const run = (name: string, args: readonly string[]) => program.run(...name.split(' '), ...args);

/** Of those that have commands of their own, too. */
const RUN_BY_THEMSELVES = ['relay', 'ledger keys'];

const namesOf = (command: Command): string[] =>
  command.commands.flatMap((inner) =>
    inner.commands.length === 0 ? [inner.name()] : namesOf(inner).map((name) => `${inner.name()} ${name}`),
  );

describe('with a ledger that is lost', () => {
  it.each(WRITING)('`gateway %s` writes nothing and says what a gateway says', async (name, args) => {
    const before = await program.log.headPosition();
    await expect(run(name, args)).rejects.toBe(lost);
    expect(await program.log.headPosition()).toBe(before);
  });

  it.each(READING)('`gateway %s` warns and shows what is there', async (name, args, shown) => {
    const before = program.warned;
    expect(await run(name, args)).toMatch(shown);
    expect(program.warned.slice(before.length)).toBe(`warning: ${lost.message} --config ${program.file}\n`);
  });

  it.each(IN_VAIN)('`gateway %s` warns and says what is not there', async (name, args, told) => {
    await expect(run(name, args)).rejects.toThrow(told);
    expect(program.warned).toContain(`warning: ${lost.message} --config ${program.file}\n`);
  });

  it('every command of the program is one of these', async () => {
    const known = new Set([
      ...WRITING.map(([name]) => name),
      ...READING.map(([name]) => name),
      ...IN_VAIN.map(([name]) => name),
      ...OTHERS,
    ]);
    expect([...RUN_BY_THEMSELVES, ...namesOf(await gatewayProgram(program.context))].sort()).toEqual([...known].sort());
  });
});
