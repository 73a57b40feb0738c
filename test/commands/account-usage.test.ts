import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { accountStream, commandId, eventId, NO_STREAM, revision, uuidV7 } from '../../contracts/ids.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { ACCOUNT, CARD, granted, keyIssued, openAccount, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

/** One request of two classes, two of another lane, one of another month. */
async function ledger(): Promise<{ program: ProgramInProcess; life: readonly AccountEvent[] }> {
  const program = await programInProcess();
  onTestFinished(() => program.close());
  program.clock = () => Date.parse('2026-11-30T12:00:00Z');
  const life: AccountEvent[] = [opened, granted('g', 1_000_000), keyIssued()];
  for (const usage of [
    usageOf(1, 3, { tokens: { input: 10, output: 3, cacheRead: 5, cacheWrite5m: 0, cacheWrite1h: 0 } }),
    usageOf(2, 2, { lane: 'fast' }),
    usageOf(3, 4, { lane: 'fast' }),
    usageOf(4, 7, { startedAt: '2026-12-01T00:00:00.000Z', finishedAt: '2026-12-01T00:10:00.000Z' }),
  ])
    life.push(...recordUsage(openAccount(life), usage, CARD));
  const recording = {
    commandId: commandId(uuidV7(Date.now(), randomBytes(10))),
    actor: 'test',
    recordedAt: '2026-11-05T10:20:31.001Z',
  };
  await program.log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(life, recording));
  return { program, life };
}

it('shows what an account has used in a month, which adds up to what it was debited', async () => {
  const { program, life } = await ledger();
  const lines: { readonly amountPicoUsd: string }[] = JSON.parse(
    await program.run('--json', 'account', 'usage', ACCOUNT),
  );
  const line = { month: '2026-11', model: 'opal-medium', lane: 'standard', requests: 1 };
  expect(lines).toEqual([
    { ...line, lane: 'fast', item: 'output', requests: 2, count: '6', amountPicoUsd: '12000000' },
    { ...line, item: 'cacheRead', count: '5', amountPicoUsd: '10' },
    { ...line, item: 'input', count: '10', amountPicoUsd: '200' },
    { ...line, item: 'output', count: '3', amountPicoUsd: '3000000' },
  ]);
  const debits = life.flatMap((event) => (event.type === 'CreditsDebited' ? [event.data] : []));
  const cost = ({ lines: [...rated] }: EventData<'CreditsDebited'>) => rated.reduce((sum, one) => sum + one.cost, 0n);
  expect(lines.reduce((sum, { amountPicoUsd }) => sum + BigInt(amountPicoUsd), 0n)).toBe(
    debits.filter(({ month }) => month === '2026-11').reduce((sum, debit) => sum + cost(debit), 0n),
  );
});

it('shows a table with all decimals, of the month that is asked for', async () => {
  const { program } = await ledger();
  expect(await program.run('account', 'usage', ACCOUNT)).toMatch(/cacheRead +1 +5 +0\.000000000010$/m);
  const december = await program.run('account', 'usage', ACCOUNT, '--month', '2026-12');
  expect(december).toMatch(/2026-12 +opal-medium +standard +output +1 +7 +0\.000007000000$/m);
  expect(december).not.toContain('2026-11');
});

it('says in a line that a month has nothing: for programs it is an empty list', async () => {
  const { program } = await ledger();
  const words = ['account', 'usage', ACCOUNT, '--month', '1999-01'];
  expect(await program.run(...words)).toBe(`${ACCOUNT} has used nothing in 1999-01\n`);
  expect(JSON.parse(await program.run('--json', ...words))).toEqual([]);
});

it('refuses an account of which not all events can be read: a part of a month is none', async () => {
  const { program, life } = await ledger();
  const wrong = { id: eventId(randomUUID()), type: 'OrderPlaced', data: '{}', metadata: '{}' };
  await program.log.append(accountStream(ACCOUNT), revision(life.length - 1), [wrong]);
  await expect(program.run('account', 'usage', ACCOUNT)).rejects.toThrow(AccountUnreadableError);
});

it('refuses an account that is not there, and what is no month', async () => {
  const { program } = await ledger();
  await expect(program.run('account', 'usage', 'acct_nobody')).rejects.toThrow('there is no such account');
  await expect(program.run('account', 'usage', ACCOUNT, '--month', '2026-13')).rejects.toThrow('such as 2026-01');
});
