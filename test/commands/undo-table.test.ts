import type { Command } from 'commander';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { READMES } from '../source-files.ts';

/** ledger/README.md, "What undoes what": beside all commands that there are. */
const TEXT = /## What undoes what\n([\s\S]*?)\n## /.exec(READMES.get('ledger/README.md') ?? '')?.[1] ?? '';
const ROW = /^\| `gateway ([a-z -]+)` \| (.*) \| (.*) \|$/gm;
const COMMAND = /`gateway ([a-z]+(?: [a-z-]+)?)`/g;

const rows = [...TEXT.matchAll(ROW)].map(([, command = '', writes = '', undoneBy = '']) => ({
  ...{ command, writes, undoneBy: [...undoneBy.matchAll(COMMAND)].map(([, name = '']) => name) },
}));
const kept = TEXT.slice(TEXT.indexOf('These say how the ledger is kept'));
const ofLedger = [...kept.matchAll(COMMAND)].map(([, name = '']) => name);

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
  expect(rows.length).toBeGreaterThan(15);
  const told = [...rows.map(({ command }) => command), ...ofLedger, ...READING];
  expect(commands.filter((command) => !told.includes(command))).toEqual([]);
  for (const { command, undoneBy } of rows) {
    expect(undoneBy, command).not.toEqual([]);
    expect([command, ...undoneBy].filter((one) => !commands.includes(one))).toEqual([]);
  }
  expect(ofLedger.filter((one) => !commands.includes(one))).toEqual([]);
});

it('names events that there are, and has each event of an account’s money', () => {
  const named = [...TEXT.matchAll(/`([A-Z]\w+)`/g)].map(([, type = '']) => type);
  expect(named.filter((type) => !Object.hasOwn(EVENT_SCHEMAS, type))).toEqual([]);
  const money = Object.keys(EVENT_SCHEMAS).filter((type) =>
    /^(Credits(?!Leased)|Grant|Debit|Balance|Exception)/.test(type),
  );
  expect(money.filter((type) => !named.includes(type))).toEqual([]);
});
