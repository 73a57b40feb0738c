import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent, DomainEvent, UsageRecorded } from '../../contracts/events.ts';
import { accountId, accountStream, commandId } from '../../contracts/ids.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { fold } from '../fixtures/ledger/decider-specification.ts';
import { CARD, granted, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const MODEL = `<img src=x onerror=alert(1)>`;

/** A log in which one account bought a million micro-USD and used some. */
async function bookedLog(change: (event: AccountEvent) => AccountEvent = (event) => event) {
  const log = new MemoryEventLog();
  const birth = { ...opened, data: { ...opened.data, email: "o'brien@example.com" } } as AccountEvent;
  const first = [birth, granted('g', 1_000_000)];
  const usage: UsageRecorded = usageOf(1, 250_000, { model: MODEL });
  const state = fold(first);
  if (state.type !== 'open') throw new Error('not open');
  const events: DomainEvent[] = [...first, ...recordUsage(state, usage, CARD)].map((event) => change(event));
  log.write(
    accountStream(accountId('acme')),
    encodeEvents(events, {
      commandId: commandId('019a5b3c-1111-7000-8000-000000000000'),
      actor: 'operator',
      recordedAt: '2026-11-05T10:00:00.000Z',
    }),
  );
  return endedLater(await programInProcess(log));
}

it('writes a month as one page that loads nothing and runs nothing, whatever others have named, for its owner alone', async () => {
  const program = await bookedLog();
  const out = join(temporaryFolder(), 'books.html');
  const said = await program.run('ledger', 'report', '--month', '2026-11', '--out', out);
  expect(said).toContain('closing balance  0.750000 USD');
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const page = readFileSync(out, 'utf8');
  expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
  expect(page).toContain('o&#39;brien@example.com');
  expect(page).not.toMatch(/<(?:img|script|link|iframe|object|embed)\b|\b(?:src|href)=["']|url\(|@import/i);
  expect(page).toContain("default-src 'none'");
  expect(page).toContain('All totals of this page agree.');
  expect(page).toContain('@page { size: A4');
});

it('answers with the page where no file is named, and with its numbers for machines', async () => {
  const program = await bookedLog();
  const page = await program.run('ledger', 'report', '--month', '2026-12');
  expect(page.startsWith('<!doctype html>')).toBe(true);
  const books = await program.json('ledger', 'report', '--month', '2026-11');
  expect(books).toMatchObject({
    opening: '0',
    closing: '750000',
    models: [{ model: MODEL, spent: '250000', earned: '250000' }],
  });
});

it('has what providers’ reports have shown, and notes by their time', async () => {
  const program = await bookedLog();
  const reported = join(temporaryFolder(), 'usage.csv');
  writeFileSync(reported, 'date,model,output_tokens\n2026-11-05,opal,12345678\n');
  program.clock = () => Date.parse('2026-11-30T23:00:00.000Z');
  await program.run('ledger', 'reconcile', reported, '--provider', 'example');
  for (const [usd, day] of [
    ['2', '30'],
    ['1', '29'],
  ] as const) {
    program.clock = () => Date.parse(`2026-11-${day}T23:00:00.000Z`);
    await program.run('credits', 'grant', 'acme', '--usd', usd, '--source', 'adjustment', '--trust-clock');
  }
  const { notes, reconciled } = await program.json('ledger', 'report', '--month', '2026-11');
  expect(reconciled).toMatchObject([{ provider: 'example', counts: { theirsOnly: 1 }, ours: '0', theirs: '12345678' }]);
  expect(notes).toMatchObject([{ amount: '1000000' }, { amount: '2000000' }]);
  const page = await program.run('ledger', 'report', '--month', '2026-11');
  expect(page).toContain('<td class="n">12,345,678</td>');
});

it('says which totals do not agree, and refuses', async () => {
  const program = await bookedLog((event) =>
    event.type === 'CreditsDebited' ? { ...event, data: { ...event.data, balanceAfter: 1n as never } } : event,
  );
  await expect(program.run('ledger', 'report', '--month', '2026-11')).rejects.toMatchObject({
    exitCode: EXIT.faults,
    message: expect.stringContaining('debits whose balance'),
  });
});
