import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import type { CommandContext } from '../../ledger/commands/command-context.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { ledgerLost } from '../../ledger/identity/ledger-lost.ts';
import { gatewayProgram } from '../../proxy/commands/gateway-program.ts';
import { temporaryFolder } from '../gateway/start-gateway.ts';

/** What each command does with a ledger that has lost events that the data folder knows of. */
const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const REASON = ['--reason', 'test'];
const WRITING: readonly (readonly [string, readonly string[]])[] = [
  ['account open', ['--email', 'bob@example.com']],
  ['account suspend', ['acct_ada', ...REASON]],
  ['account reinstate', ['acct_ada', ...REASON]],
  ['credits grant', ['acct_ada', '--usd', '5']],
  ['credits reinstate', ['acct_ada', '--grant', 'grant_trial', ...REASON]],
  ['key issue', ['acct_ada']],
  ['key revoke', ['acct_ada', 'key_0123456789abcdef']],
  ['limit set', ['acct_ada', '--usd', '5']],
  ['catalog publish', [CATALOG]],
  ['exception approve', ['req_0123', '--account', 'acct_ada', ...REASON]],
  ['exception drop', ['req_0123', '--account', 'acct_ada', ...REASON]],
  ['relay', []],
];
const READING: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['account list', [], /acct_ada/],
  ['account show', ['acct_ada'], /acct_ada/],
  ['key list', ['acct_ada'], /ends in/],
  ['catalog show', [], /no catalog/],
  ['exception list', [], /account/],
  ['ledger events', ['acct_ada'], /AccountOpened/],
];
/** They look themselves at which ledger it is. */
const OTHERS = ['serve', 'ledger accept-loss'];

const lost = ledgerLost('ledger.db', {
  lost: [
    {
      ...{ stream: 'account-acct_ada' as never, revision: 7, id: null, knownBy: ['views.db'] },
      ...{ end: 1, sharedAtLeast: -1, sharedAtMost: 1, isReplaced: false },
    },
  ],
  untold: 0,
});

let log: EventLog;
let context: CommandContext;
let file: string;
let answered: string;
let warned: string;

beforeEach(async () => {
  const data = temporaryFolder();
  log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
  onTestFinished(() => log.close());
  file = join(data, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data, kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 } }));
  answered = '';
  warned = '';
  context = {
    openEventLog: async () => ({
      append: log.append.bind(log),
      readStream: log.readStream.bind(log),
      readAll: log.readAll.bind(log),
      subscribeAll: log.subscribeAll.bind(log),
      headPosition: log.headPosition.bind(log),
      close: async () => undefined,
    }),
    proveLedger: async () => ({ isWhole: true, error: null }),
    environment: {},
    clock: Date.now,
    write: (text) => {
      answered += text;
    },
    warn: (text) => {
      warned += text;
    },
  };
  await run('account open', ['--email', 'ada@example.com', '--id', 'acct_ada']);
  answered = '';
  context = { ...context, proveLedger: async () => ({ isWhole: false, error: lost }) };
});

const run = (name: string, args: readonly string[]) =>
  gatewayProgram(context).parseAsync(['--config', file, ...name.split(' '), ...args], { from: 'user' });

const namesOf = (command: Command): string[] =>
  command.commands.flatMap((inner) =>
    inner.commands.length === 0 ? [inner.name()] : namesOf(inner).map((name) => `${inner.name()} ${name}`),
  );

describe('with a ledger that is lost', () => {
  it.each(WRITING)('`gateway %s` writes nothing and says what a gateway says', async (name, args) => {
    const before = await log.headPosition();
    await expect(run(name, args)).rejects.toBe(lost);
    expect(await log.headPosition()).toBe(before);
    expect(answered).toBe('');
  });

  it.each(READING)('`gateway %s` warns and shows what is there', async (name, args, shown) => {
    await run(name, args);
    expect(warned).toBe(`warning: ${lost.message}\n`);
    expect(answered).toMatch(shown);
  });

  it('every command of the program is one of these', () => {
    const known = [...WRITING.map(([name]) => name), ...READING.map(([name]) => name), ...OTHERS];
    expect(namesOf(gatewayProgram(context)).sort()).toEqual(known.sort());
  });
});
