import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { accountId, commandOfRequest } from '../../contracts/ids.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { CARD, requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { OF_LEDGER, UNDO_TABLE, UNDO_TEXT } from './undo-table.ts';

/** What changes nothing of the ledger. */
const READING = [
  ...['account show', 'account list', 'account usage', 'key list', 'payment list', 'member list', 'exception list'],
  'plan list',
  ...['catalog show', 'catalog diff', 'catalog history', 'ledger events', 'ledger replay', 'ledger explain'],
  ...['ledger export', 'ledger report', 'ledger verify', 'ledger prove', 'ledger seal-digest', 'ledger backup'],
  ...['projections status', 'projections diff', 'projections rebuild', 'projections park', 'projections unpark'],
  ...[
    'projections switch',
    'projections rollback',
    'ledger check-proof',
    'relay fill',
    'doctor',
    'completion',
    'account statement',
  ],
];

let commands: readonly string[];
beforeAll(async () => {
  const gateway = await gatewayProgram(endedLater(await programInProcess(), afterAll).context);
  const isRun = (command: Command): boolean => command.commands.length === 0 || command.options.length > 0;
  commands = gateway.commands.flatMap((group) => [
    ...(isRun(group) ? [group.name()] : []),
    ...group.commands.map((one) => `${group.name()} ${one.name()}`),
  ]);
});

it('has every command that writes, with one that undoes it, and no command that there is not', () => {
  expect(UNDO_TABLE.length).toBeGreaterThan(15);
  const told = [...UNDO_TABLE.map(({ command }) => command), ...OF_LEDGER, ...READING];
  expect(commands.filter((command) => !told.includes(command))).toEqual([]);
  for (const { command, undoneBy } of UNDO_TABLE) {
    expect(undoneBy, command).not.toEqual([]);
    expect([command, ...undoneBy].filter((one) => !commands.includes(one))).toEqual([]);
  }
  expect(OF_LEDGER.filter((one) => !commands.includes(one))).toEqual([]);
});

it('names for all that gives credits what takes those of them that are spent, too, with which nothing of them is left', async () => {
  const giving = UNDO_TABLE.filter(({ undoneBy }) => undoneBy.includes('credits revoke'));
  expect(giving.length).toBeGreaterThan(3);
  for (const { command, undoneBy } of giving) expect(undoneBy, command).toContain('balance adjust');

  const program = endedLater(await programInProcess());
  program.clock = () => Date.parse('2026-11-06T12:00:00.000Z');
  const why = ['--reason', 'by mistake'];
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await program.run('credits', 'grant', 'acct_ada', '--usd', '20', '--id', 'given');
  const usage = { type: 'RecordUsage', usage: usageOf(1, 15_000_000), card: CARD } as const;
  const recording = { commandId: commandOfRequest(requestOf(1)), actor: 'gateway', recordedAt: usage.usage.finishedAt };
  await executeCommand(program.log, accountId('acct_ada'), usage, SYSTEM, recording);
  const balance = async () => (await program.json('account', 'show', 'acct_ada')).balance;
  await program.run('credits', 'revoke', 'acct_ada', '--grant', 'given', ...why);
  expect(await balance()).toBe('0');
  await program.run('balance', 'adjust', 'acct_ada', '--down', '15', ...why);
  expect(await balance()).toBe('-15000000');
});

it('names for what is confirmed, or said to be paid for, by mistake what turns its money back, with which nobody’s is received or earned', async () => {
  const named = (one: string) => UNDO_TABLE.find(({ command }) => command === one)?.undoneBy;
  expect(named('payment confirm')).toEqual(['payment refund', 'account plan']);
  expect(named('payment ask')).toEqual(['payment ask', 'payment refund']);
  expect(/^\| `gateway credits grant`.*$/m.exec(UNDO_TEXT)?.[0]).toContain('`--cause refund`');

  const program = endedLater(await programInProcess());
  program.clock = () => Date.parse('2026-11-06T12:00:00.000Z');
  const why = ['--reason', 'nothing was paid'];
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  await program.run('credits', 'purchase', 'acct_ada', '--usd', '20', '--price-usd', '18', '--id', 'invoice-7');
  await program.run('payment', 'confirm', 'acct_ada', '--payment', 'transfer-42');
  await program.run('payment', 'refund', 'acct_ada', 'transfer-42', '--usd', '18', ...why);
  await program.run('credits', 'grant', 'acct_ada', '--usd', '20', '--cost-usd', '20', '--id', 'said');
  await program.run('credits', 'revoke', 'acct_ada', '--grant', 'said', '--usd', '20', '--cause', 'refund', ...why);
  const { closing, payments, moved } = await program.json('ledger', 'report', '--month', '2026-11');
  expect({ closing, payments, moved }).toMatchObject({
    closing: '0',
    payments: { received: '0' },
    moved: { paidBack: '38000000', premium: '0', corrections: '0', refunds: '0' },
  });
  const sums = new Map<string, bigint>();
  const exported = await program.run('ledger', 'export', '--format', 'csv');
  for (const [, account = '', amount = ''] of exported.matchAll(/,([A-Z]\w+:[\w:]+),[-.\d]+,(-?\d+),/g))
    sums.set(account, (sums.get(account) ?? 0n) + BigInt(amount));
  expect([...sums.keys()]).toContain('Assets:Clearing:Purchases');
  expect([...sums].filter(([, sum]) => sum !== 0n)).toEqual([]);
});

it('names events that there are, and has each event of an account’s money', () => {
  const named = [...UNDO_TEXT.matchAll(/`([A-Z]\w+)`/g)].map(([, type = '']) => type);
  expect(named.filter((type) => !Object.hasOwn(EVENT_SCHEMAS, type))).toEqual([]);
  const money = Object.keys(EVENT_SCHEMAS).filter((type) =>
    /^(Credits(?!Leased)|Grant|Debit|Balance|Exception)/.test(type),
  );
  expect(money.filter((type) => !named.includes(type))).toEqual([]);
});
