import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { accountId, commandOfRequest } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { CARD, requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { UNDO_TABLE } from './undo-table.ts';
import { BEN, EXPIRES, NOT_AS_BEFORE, REQUEST, UNDONE, type Undone } from './undone-rows.ts';

const PLANS = [
  { id: 'small', label: 'Small', price: '10.00', credits: '11.00' },
  { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' },
  { id: 'team', label: 'Team', price: '200.00', credits: '260.00' },
];

let program: ProgramInProcess;
/** What stands for words of a line. */
let names: Record<string, string>;

beforeEach(async () => {
  program = endedLater(await programInProcess());
  let nowMs = Date.parse('2026-11-06T11:00:00.000Z');
  program.clock = () => {
    nowMs += 1_000;
    return nowMs;
  };
  names = { 'FILE-1': fileOf('3.00', PLANS), 'FILE-2': fileOf('4.00', PLANS.slice(1)) };
  for (const line of [
    'catalog publish FILE-1',
    'account open --kind organization --email ada@example.com --id acct_ada --trial-usd 0',
    'credits grant acct_ada --usd 50 --id gift',
    `member add acct_ada ${BEN}`,
    `key issue acct_ada --member ${BEN} --monthly-limit-usd 7`,
  ])
    await run(line);
  names.KEY = String(names.NEW);
  await execute({ type: 'RecordUsage', usage: usageOf(1, 70, { hold: microUsd(20n) }), card: CARD });
});

function fileOf(input: string, plans: readonly object[]): string {
  const file = join(temporaryFolder(), 'catalog.json');
  const upstreams = [{ provider: 'mock', model: 'opal-medium' }];
  const models = [catalogEntry('opal-medium', { price: { input, output: '15.00' }, upstreams })];
  writeFileSync(file, JSON.stringify({ models, plans }));
  return file;
}

async function run(line: string): Promise<void> {
  if (line === EXPIRES)
    return execute({ type: 'ExpireCredits', lateMs: 0, nowMs: Date.parse('2026-12-02T00:00:00.000Z') });
  const { keyId } = await program.json(...line.split(' ').map((word) => names[word] ?? word));
  if (line.startsWith('key issue ')) names.NEW = String(keyId);
}

/** As the gateway does. */
async function execute(command: AccountCommand): Promise<void> {
  const commandId = commandOfRequest(requestOf(command.type === 'RecordUsage' ? 1 : 2));
  const recording = { commandId, actor: 'gateway', recordedAt: new Date(program.clock()).toISOString() };
  await executeCommand(program.log, accountId('acct_ada'), command, SYSTEM, recording);
}

interface Shown {
  readonly [name: string]: unknown;
}

/** All that is to be as it was. */
async function seen(): Promise<Shown> {
  const { revision: _revision, ...account } = await program.json('account', 'show', 'acct_ada');
  const { models, plans } = await program.json('catalog', 'show');
  const open = (await program.json('payment', 'list')) as never as readonly Shown[];
  const { balance, uncovered, availableMicroUsd: available } = account;
  const grants = account.grants as readonly Shown[];
  const usable = grants.flatMap(({ grantId, remaining }) => (remaining === '0' ? [] : [[grantId, remaining]]));
  return {
    ...{ account, members: await program.json('member', 'list', 'acct_ada') },
    open: open.map(({ kind, creditsMicroUsd, priceMicroUsd }) => ({ kind, creditsMicroUsd, priceMicroUsd })),
    catalog: {
      plans,
      // The prices of before are a version of their own.
      models: (models as readonly { readonly rateCard: Shown }[]).map(({ rateCard, ...model }) => ({
        ...model,
        rates: rateCard.rates,
      })),
    },
    money: { balance, uncovered, available, usable },
  };
}

const within = (shown: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((part, name) => (part as Shown | null | undefined)?.[name], shown);

function kept(shown: Shown, { only = [], but = [] }: Undone): unknown {
  const copy = structuredClone(shown);
  for (const path of but) {
    const part = within(copy, path.slice(0, -1));
    if (part !== null && part !== undefined) Reflect.deleteProperty(part, String(path.at(-1)));
  }
  return within(copy, only);
}

it('each row of the table is undone here, by a command that it names, but those of which nothing is as before', () => {
  const done = UNDONE.map(({ does, undo: [first = ''] }) => {
    const row = UNDO_TABLE.find(({ command }) => does.startsWith(`${command} `));
    expect(
      row?.undoneBy.some((one) => first.startsWith(`${one} `)),
      `${does}: ${first}`,
    ).toBe(true);
    return row?.command;
  });
  const rows = UNDO_TABLE.map(({ command }) => command);
  expect(new Set([...done, ...NOT_AS_BEFORE])).toEqual(new Set(rows));
});

it.each(UNDONE.map((undone) => [undone.does, undone] as const))('what `%s` does is undone', async (does, undone) => {
  for (const line of undone.first ?? []) await run(line);
  const before = kept(await seen(), undone);
  await run(does);
  expect(kept(await seen(), undone)).not.toEqual(before);
  for (const line of undone.undo) await run(line);
  expect(kept(await seen(), undone)).toEqual(before);
});

it('an account that was opened by mistake is refused and has no credits; an exception that was dropped is paid as one that was approved', async () => {
  await run('account open --email eve@example.com --id acct_eve');
  await run('account suspend acct_eve --reason x');
  await run('credits revoke acct_eve --grant grant_trial --reason x');
  expect(await program.json('account', 'show', 'acct_eve')).toMatchObject({
    ...{ suspended: 'x', balance: '0', availableMicroUsd: '0' },
  });
  const balance = async () => BigInt(String((await program.json('account', 'show', 'acct_ada')).balance));
  const before = await balance();
  await run(`exception drop ${REQUEST} --reason x`);
  await run('balance adjust acct_ada --down 0.00005 --reason x');
  expect(before - (await balance())).toBe(50n);
});
