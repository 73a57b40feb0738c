import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ProvenLedger } from '../../proxy/program/command-context.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { proveLedger } from '../../proxy/program/ledger/proven-ledger.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { readKept } from '../written-before/kept-state.ts';
import { type Keep, LedgerSite } from './lost-ledgers.ts';

/** All that a member is told. */
const UNRELIABLE = 'the ledger cannot be relied on now: an operator has to look';

const FIRST_EVENTS: Keep = (_event, index) => index < 20;

/** A folder with views, leases and an unsettled journal whose ledger was put back to its first events, or was not. */
async function siteOf(keep: Keep | null): Promise<LedgerSite> {
  const { folder, computed } = readKept('76ed563', 'sqlite', 'whole');
  const site = new LedgerSite('sqlite', folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  if (keep !== null) await site.rollBack(keep);
  return site;
}

async function proven(site: LedgerSite): Promise<ProvenLedger> {
  const configuration = readConfiguration({ file: site.configPath, environment: {}, callsProviders: false });
  const log = await site.openLog();
  try {
    return await proveLedger(log, configuration, Date.now);
  } finally {
    await log.close();
  }
}

describe('a command', () => {
  it('refuses a ledger that was put back in the words of the gateway, and one that reads warns with them', async () => {
    const site = await siteOf(null);
    // Its views are of today's form: the ledger that is left must not be read from where they stand.
    await (await site.serve()).stop();
    await site.rollBack(FIRST_EVENTS);
    const run = (...args: string[]) => runHere('--config', site.configPath, ...args);
    const serve = await runProgram('--config', site.configPath, 'serve', '--port', '0');
    const grant = await run('credits', 'grant', 'acct_ada', '--usd', '5');
    expect(grant).toEqual({ exitCode: 3, stdout: '', stderr: serve.stderr });
    expect(grant.stderr).toMatch(/^gateway: the ledger .* lacks events that it had;/);
    const list = await run('account', 'list');
    expect(list).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('acct_ada') });
    expect(list.stderr).toBe(serve.stderr.replace('gateway: ', 'warning: '));
    // A member is told of no account, folder or command of the operators'.
    const as = ['--as', 'zoe@example.com'];
    expect(await run('key', 'issue', 'acct_ada', ...as)).toEqual({
      ...{ exitCode: 3, stdout: '', stderr: `gateway: ${UNRELIABLE}\n` },
    });
    for (const word of ['show', 'usage'])
      expect(await run('account', word, 'acct_none', ...as)).toEqual({
        ...{ exitCode: 3, stdout: '' },
        stderr: `warning: ${UNRELIABLE}\ngateway: acct_none: there is no such account\n`,
      });
  });

  it('believes what the views know, and what the journal knows, each alone', async () => {
    const views = await siteOf(FIRST_EVENTS);
    views.forget('journal');
    expect((await proven(views)).error?.message).toMatch(/acct_ada: views\.db knows revision/);
    const journal = await siteOf(FIRST_EVENTS);
    journal.forget('views.db');
    expect((await proven(journal)).error?.message).toMatch(/acct_ada: the journal knows revision/);
  });

  it('writes where the ledger has everything, and where the folder knows nothing', async () => {
    expect(await proven(await siteOf(null))).toEqual({ isWhole: true, error: null });
    const bare = await siteOf(FIRST_EVENTS);
    bare.forget('views.db', 'journal');
    expect(await proven(bare)).toEqual({ isWhole: true, error: null });
  });

  it('makes no ledger where one is missing, also where the note of it has gone along', async () => {
    const site = await siteOf(null);
    site.forget('ledger-id');
    site.deleteLedger();
    const before = readdirSync(site.data).sort();
    const run = (...args: string[]) => runHere('--config', site.configPath, ...args);
    const commands = [
      ['account', 'list'],
      ['account', 'open', '--email', 'eve@example.com'],
    ];
    for (const command of commands)
      expect(await run(...command)).toMatchObject({
        exitCode: 3,
        stderr: expect.stringMatching(/ledger\.db is missing: a gateway has run on this data folder\.\n.*accept-loss/s),
      });
    expect(await run('account', 'show', 'acct_ada', '--as', 'ada@example.com')).toEqual({
      ...{ exitCode: 3, stdout: '', stderr: `gateway: ${UNRELIABLE}\n` },
    });
    expect((await runProgram('--config', site.configPath, 'serve', '--port', '0')).exitCode).toBe(3);
    expect(readdirSync(site.data).sort()).toEqual(before);
  });

  it('says so where what the folder knows cannot be read', async () => {
    const site = await siteOf(null);
    writeFileSync(join(site.data, 'ledger-id'), '{"ledgerId":');
    await expect(proven(site)).rejects.toThrow(/what .* knows of its ledger cannot be read: .*ledger-id/);
    const show = ['--config', site.configPath, 'account', 'show', 'acct_ada'];
    expect(await runHere(...show)).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('ledger-id') });
    expect(await runHere(...show, '--as', 'ada@example.com')).toEqual({
      ...{ exitCode: 4, stdout: '', stderr: `gateway: ${UNRELIABLE}\n` },
    });
  });
});

it.each([
  ['is empty', '', /ledger-id is empty, as a loss of power can leave a file, and/],
  ['is nothing but NUL bytes', '\0'.repeat(191), /ledger-id is empty, as a loss of power can leave a file, and/],
  ['is cut', '{"ledgerId":', /ledger-id is not of its form, and/],
])('a start on a folder whose note %s ends in one line that says how to mend it', async (_what, text, message) => {
  const site = await siteOf(null);
  writeFileSync(join(site.data, 'ledger-id'), text);
  const { exitCode, stderr } = await runProgram('--config', site.configPath, 'serve', '--port', '0');
  expect(exitCode).toBe(4);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^gateway: .*; put it back as it was, or move it away: [^\n]*\n$/);
});
