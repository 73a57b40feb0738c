import { execFile } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { rowsOf } from '../fixtures/ledger/sealed-rows.ts';
import { killStarted, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { programOfCommit } from '../fixtures/processes/program-of-commit.ts';
import { todaysTree } from './program-trees.ts';

/** The last commit whose programs know neither seals nor reconciliations. */
const BEFORE_SEALS = '5b03c881172fc2485d9406de2293fea8c9e48909';
const ACCOUNT = 'acct_sealed';
const run = promisify(execFile);

/**
 * Types of events of streams that no view follows need no adoption: a gateway of today seals and records a reconciliation in a folder,
 * one of before serves it and writes, and today's finds all in order. What is not so, a line each; null where this clone's history lacks it.
 */
export async function servedBehindNewerEvents(folder: string): Promise<readonly string[] | null> {
  const before = programOfCommit(BEFORE_SEALS, join(folder, 'before-seals'));
  if (before === null) return null;
  const today = todaysTree().main;
  const data = join(folder, 'sealed');
  mkdirSync(data);
  const [own, theirs, report] = ['today.json', 'before.json', 'usage.csv'].map((name) => join(data, name)) as [
    string,
    string,
    string,
  ];
  const configuration = { data, listen: { port: 0 } };
  writeFileSync(own, JSON.stringify({ ...configuration, seals: { events: 2, afterMs: 1 } }));
  writeFileSync(theirs, JSON.stringify(configuration));
  writeFileSync(report, 'date,model,output_tokens\n2026-11-19,opal-medium,901\n');
  const stderrFd = openSync(join(folder, 'sealed-stderr.log'), 'a');
  const faults: string[] = [];
  try {
    const sealing = startProcess([today, '--config', own, '--json', 'serve'], { stderrFd });
    await sealing.firstLine;
    await command(today, own, 'account', 'open', '--email', 'sealed@example.com', '--id', ACCOUNT);
    await command(today, own, 'ledger', 'reconcile', report, '--provider', 'example');
    await stopInOrder(sealing);
    const serving = startProcess([before, '--config', theirs, '--json', 'serve'], { stderrFd });
    const { url } = await serving.firstLine;
    const ready = await fetch(`${url}/readyz`);
    if (ready.status !== 200) faults.push(`the program of before is not ready: ${await ready.text()}`);
    await command(before, theirs, 'credits', 'grant', ACCOUNT, '--usd', '5');
    const shown = await command(before, theirs, 'account', 'show', ACCOUNT);
    if (!shown.includes('10.00')) faults.push(`the program of before shows ${shown}`);
    await stopInOrder(serving);
    const types = new Set(rowsOf(join(data, 'ledger.db')).map(({ type }) => type));
    for (const type of ['SealKeyIntroduced', 'LedgerSealed', 'ProviderReconciled'])
      if (!types.has(type)) faults.push(`there is no ${type} in the ledger`);
    await command(today, own, 'ledger', 'verify', '--all');
    await command(today, own, 'ledger', 'verify', '--seals');
    return faults;
  } catch (error) {
    return [...faults, String(error), readFileSync(join(folder, 'sealed-stderr.log'), 'utf8').slice(-2_000)];
  } finally {
    await killStarted();
    closeSync(stderrFd);
  }
}

async function command(main: string, configuration: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [main, '--config', configuration, ...args]);
  return stdout;
}
