import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../proxy/program/command-error.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { PROGRAM, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { OF_LEDGER, UNDO_TABLE } from './undo-table.ts';
import { commandNamed, wholeLine } from './whole-line.ts';

/** A system's user may be a number that has no name: then nobody is known to do what a command does, unless it says who. */
const WHO = 'the system’s user has no name: say who does this with --actor NAME';

const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;

/** What writes as itself, whoever runs it; `payment ask` writes what the provider says. */
const BY_THEMSELVES = ['serve', 'relay', 'ledger restore', 'payment ask'];

/** The program without a user's name, and what it says. */
function unnamed(program: ProgramInProcess) {
  const { user: _user, ...context } = program.context;
  return async (...args: readonly string[]): Promise<{ exitCode: number; said: string }> => {
    let said = '';
    const take = (text: string): void => {
      said += text;
    };
    const given = { ...context, write: take, warn: take };
    return { exitCode: await runGatewayProgram(given, ['--config', program.file, ...args]), said };
  };
}

async function ofAda(): Promise<ProgramInProcess> {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  return program;
}

describe('where the system’s user has no name', () => {
  it('each command that writes is refused, and has written nothing', async () => {
    const program = await ofAda();
    const run = unnamed(program);
    const gateway = await gatewayProgram(program.context);
    const head = await program.log.headPosition();
    const writing = [...UNDO_TABLE.map(({ command }) => command), ...OF_LEDGER].filter(
      (name) => !BY_THEMSELVES.includes(name),
    );
    expect(writing.length).toBeGreaterThan(30);
    for (const name of writing) {
      const { exitCode, said } = await run(...wholeLine(name, commandNamed(name, gateway)));
      expect([name, said.trim(), exitCode]).toEqual([name, expect.stringContaining(WHO), EXIT.usage]);
    }
    expect(await program.log.headPosition()).toBe(head);
  });

  it('it is done by whom --actor or --as names', async () => {
    const program = await ofAda();
    const run = unnamed(program);
    expect(await run('key', 'issue', 'acct_ada', '--actor', 'grace')).toMatchObject({ exitCode: 0 });
    expect(await run('key', 'issue', 'acct_ada', '--as', 'ada@example.com')).toMatchObject({ exitCode: 0 });
    const events = await program.run('--json', 'ledger', 'events', 'acct_ada');
    expect(events.match(/"actor":"[^"]*"/g)?.slice(-2)).toEqual(['"actor":"grace"', '"actor":"ada@example.com"']);
  });

  it('what only reads, or writes down what a provider says, asks for no name', async () => {
    const program = await ofAda();
    await program.run('credits', 'purchase', 'acct_ada', '--usd', '5', '--id', 'invoice-7');
    const run = unnamed(program);
    for (const line of ['account show acct_ada', 'payment ask acct_ada', 'ledger forms', `catalog diff ${CATALOG}`])
      expect(await run(...line.split(' ')), line).toMatchObject({ exitCode: 0 });
  });
});

/** Of a number that no machine gives to anybody. */
const NUMBER = 54_321;
const asNumber = { encoding: 'utf8', uid: NUMBER, gid: NUMBER, timeout: 60_000 } as const;
/** Only root becomes another; and a checkout may lie where nobody but its owner comes to. */
const canBeNumber =
  process.geteuid?.() === 0 && spawnSync(process.execPath, ['--check', import.meta.filename], asNumber).status === 0;

/** A data folder that it may make, and the program on it. */
function ofNumber() {
  const folder = temporaryFolder();
  // It comes through the folder of the whole run.
  chmodSync(dirname(folder), 0o711);
  chownSync(folder, NUMBER, NUMBER);
  const data = join(folder, 'data');
  const run = (...args: readonly string[]) => spawnSync(process.execPath, [PROGRAM, ...args, '--data', data], asNumber);
  return { data, run };
}

describe.runIf(canBeNumber)('a process whose user has no name', () => {
  it('begins no ledger, and begins it for whom --actor names', () => {
    const { data, run } = ofNumber();
    const open = ['account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada'];
    const refused = run(...open);
    expect([refused.status, refused.stderr]).toEqual([EXIT.usage, expect.stringContaining(WHO)]);
    expect(existsSync(data)).toBe(false);
    const opened = run(...open, '--actor', 'grace');
    expect([opened.status, opened.stderr]).toEqual([0, expect.stringContaining('a new ledger was begun')]);
    expect(run('ledger', 'events', 'acct_ada', '--json').stdout).toContain('"actor":"grace"');
  });

  it('serves, and what it writes at its start is the gateway’s', async () => {
    const { data, run } = ofNumber();
    const serving = ['--json', 'serve', '--port', '0', '--data', data];
    const child = spawn(process.execPath, [PROGRAM, ...serving], { uid: NUMBER, gid: NUMBER, stdio: 'pipe' });
    onTestFinished(() => stop(child).then(() => undefined));
    const lines = createInterface({ input: child.stdout });
    expect(await Promise.race([once(lines, 'line'), once(child, 'exit')])).toEqual([expect.stringContaining('url')]);
    expect(await stop(child)).toBe(0);
    const { stdout } = run('ledger', 'events', 'acct_demo', '--json');
    expect([...new Set(stdout.match(/"actor":"[^"]*"/g))]).toEqual(['"actor":"gateway"']);
  });
});
