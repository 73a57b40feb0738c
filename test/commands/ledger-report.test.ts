import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { ProposedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, DomainEvent, UsageRecorded } from '../../contracts/events.ts';
import {
  accountId,
  accountStream,
  commandId,
  eventId,
  NO_STREAM,
  type Revision,
  revision,
  SEALS_STREAM,
} from '../../contracts/ids.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { fold } from '../fixtures/ledger/decider-specification.ts';
import { CARD, granted, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { account, settlementScene } from '../fixtures/ledger/settlement-scene.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const HASH = 'a3'.repeat(32);
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
  const other = join(temporaryFolder(), 'books.html');
  expect(await program.json('ledger', 'report', '--month', '2026-11', '--out', other)).toMatchObject({ out: other });
  expect(await program.json('ledger', 'report', '--month', '2026-11')).toMatchObject({ out: null });
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const page = readFileSync(out, 'utf8');
  expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
  expect(page).toContain('o&#39;brien@example.com');
  expect(page).not.toMatch(/<(?:img|script|link|iframe|object|embed)\b|\b(?:src|href)=["']|url\(|@import/i);
  expect(page).toContain("default-src 'none'");
  expect(page).toContain('All totals of this page agree.');
  expect(page).toContain('@page { size: A4');
  // Amounts have their sign.
  expect(page).toMatch(/<td>spent by requests<\/td>.*-0\.250000/);
  expect(page).not.toMatch(/<td>[−+] /);
});

it('answers with figures and models for people, with the page where that is asked for, and with all numbers for machines', async () => {
  const program = await bookedLog();
  const of = (...more: string[]) => program.run('ledger', 'report', '--month', '2026-11', ...more);
  const table = await of();
  expect(table).toMatch(/^Books of 2026-11, .*\n\nopening balance .*closing balance +0\.750000 USD\n/s);
  expect(table).toMatch(/\nthe whole page +--format html, or --out FILE\n\nmodel .* 0\.250000\n$/s);
  expect(await of('--format', 'table')).toBe(table);
  for (const asked of [
    ['--format', 'html'],
    ['--out', '-'],
    ['--out', '-', '--format', 'html'],
  ])
    expect((await of(...asked)).startsWith('<!doctype html>')).toBe(true);
  const out = join(temporaryFolder(), 'books.html');
  for (const format of ['table', 'json'])
    await expect(of('--out', out, '--format', format)).rejects.toMatchObject({
      ...{ exitCode: EXIT.usage, message: `--out: of the page alone, and not of --format ${format}` },
    });
  expect(existsSync(out)).toBe(false);
  const books = await program.json('ledger', 'report', '--month', '2026-11');
  expect(JSON.parse(await of('--format', 'json'))).toEqual(books);
  expect(books).toMatchObject({
    opening: '0',
    closing: '750000',
    models: [{ model: MODEL, spent: '250000', earned: '250000' }],
  });
});

it('has what providers’ reports have shown, and notes by their time', async () => {
  const program = await bookedLog();
  const providers = { example: { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'EXAMPLE_KEY' } };
  writeFileSync(program.file, JSON.stringify({ ...JSON.parse(readFileSync(program.file, 'utf8')), providers }));
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
  const page = await program.run('ledger', 'report', '--month', '2026-11', '--format', 'html');
  expect(page).toContain('<td class="n">12,345,678</td>');
});

it('says how far the month’s events are sealed, and that a gap ends what is', async () => {
  const program = await bookedLog();
  const seal = (number: number, first: number, treeSize: number, day: string): ProposedEvent => ({
    id: eventId(newId()),
    type: 'LedgerSealed',
    data: JSON.stringify({
      ...{ seal: number, ledgerId: `ledger_${'0'.repeat(32)}`, first, count: treeSize - first, root: HASH, treeSize },
      ...{ treeRoot: HASH, previous: null, sealedAt: `2026-${day}T10:00:00.000Z`, keyId: `000000000000000${number}` },
      signature: `${'A'.repeat(86)}==`,
    }),
    metadata: JSON.stringify({
      schemaVersion: 1,
      commandId: 'c',
      actor: 'gateway',
      recordedAt: '2026-11-05T10:00:00.000Z',
    }),
  });
  const sealed = async (at: Revision, ...seals: ProposedEvent[]): Promise<string> => {
    await program.log.append(SEALS_STREAM, at, seals);
    return await program.run('ledger', 'report', '--month', '2026-11', '--format', 'html');
  };
  expect(await program.run('ledger', 'report', '--month', '2026-11', '--format', 'html')).toContain(
    'This ledger has no seals',
  );
  const [key] = encodeEvents([exampleOf('SealKeyIntroduced')], {
    commandId: commandId('019a5b3c-2222-7000-8000-000000000000'),
    ...{ actor: 'sealer', recordedAt: '2026-10-31T10:00:00.000Z' },
  });
  if (key === undefined) throw new Error('nothing was encoded');
  const page = await sealed(NO_STREAM, key, seal(0, 0, 1, '10-31'), seal(1, 1, 3, '11-05'));
  expect(page).toContain('Sealed of this month’s books: 3 of 4 events');
  expect(page).toContain('1, numbers 1 to 1, the last at 2026-11-05T10:00:00.000Z, by the keys 0000000000000001');
  expect(page).not.toContain('have a gap');
  program.clock = () => Date.parse('2026-11-30T23:00:00.000Z');
  await program.run('credits', 'grant', 'acme', '--usd', '2');
  // Its ordinal is 4: the seals between are not counted.
  expect(await sealed(revision(2), seal(2, 3, 5, '11-30'))).toContain('Sealed of this month’s books: 5 of 5 events');
  const broken = await sealed(revision(3), seal(3, 9, 12, '11-30'));
  expect(broken).toContain('books: 5 of 5 events');
  expect(broken).toContain('The seals have a gap');
});

it('replaces nothing that is there, and leaves nothing beside it', async () => {
  const program = await bookedLog();
  const folder = temporaryFolder();
  const reportTo = (out: string) => program.run('ledger', 'report', '--month', '2026-11', '--out', out);
  const [ledger, link, fifo] = [join(folder, 'ledger.db'), join(folder, 'link'), join(folder, 'fifo')];
  writeFileSync(ledger, 'mine');
  symlinkSync('nowhere', link);
  execFileSync('mkfifo', [fifo]);
  for (const out of [ledger, link, fifo, folder, '/dev/null'])
    await expect(reportTo(out)).rejects.toMatchObject({ exitCode: EXIT.usage, message: `${out}: is there already` });
  await expect(reportTo(join(folder, 'no', 'x'))).rejects.toMatchObject({
    ...{
      exitCode: EXIT.usage,
      message: expect.stringMatching(/: the folder .*\/no is not there: make it first$/),
    },
  });
  expect(readFileSync(ledger, 'utf8')).toBe('mine');
  const left = join(folder, 'books.html.partial');
  writeFileSync(left, 'theirs', { mode: 0o666 });
  await expect(reportTo(join(folder, 'books.html'))).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringMatching(/books\.html\.partial: is there already: .*to be removed/),
  });
  expect(readFileSync(left, 'utf8')).toBe('theirs');
  rmSync(left);
  await expect(reportTo(join(folder, 'books.html'))).resolves.toContain('closing balance');
  expect(readdirSync(folder).toSorted()).toEqual(['books.html', 'fifo', 'ledger.db', 'link']);
  expect(existsSync(`${folder}.new`)).toBe(false);
});

it('its lines for a terminal add up from one balance to the other', async () => {
  const program = await bookedLog();
  program.clock = () => Date.parse('2026-11-30T23:00:00.000Z');
  await program.run('credits', 'grant', 'acme', '--usd', '2', '--source', 'promotion');
  // A plan that costs nothing.
  await program.run('credits', 'grant', 'acme', '--usd', '3', '--source', 'plan');
  const said = await program.run('ledger', 'report', '--month', '2026-11', '--out', join(temporaryFolder(), 'b.html'));
  const lines = said
    .split('\n')
    .map((line) => /^(.*?) +(-?[\d.]+) USD$/.exec(line))
    .filter((line) => line !== null);
  expect(lines.map(([, name]) => name)).toEqual([
    ...['opening balance', 'sold', 'given', 'reinstated', 'spent', 'expired', 'corrected', 'closing balance'],
  ]);
  const amounts = lines.map(([, , usd]) => Number((usd ?? '').replace('.', '')));
  expect(amounts.at(-1)).toBe(amounts.slice(0, -1).reduce((sum, amount) => sum + amount, 0));
  expect(amounts).toEqual([0, 1_000_000, 5_000_000, 0, -250_000, 0, 0, 5_750_000]);
});

it('makes no books of what cannot be booked, and says where that stands', async () => {
  const program = await bookedLog((event) =>
    event.type === 'CreditsDebited' ? { ...event, data: { ...event.data, grants: [] } } : event,
  );
  await expect(program.run('ledger', 'report', '--month', '2026-11')).rejects.toMatchObject({
    exitCode: EXIT.faults,
    message: expect.stringMatching(/account-acme revision 3 \(CreditsDebited\) cannot be booked: .*verify tells more/),
  });
  const folder = temporaryFolder();
  const out = join(folder, 'books.html');
  await expect(program.run('ledger', 'report', '--month', '2026-11', '--out', out)).rejects.toThrow('cannot be booked');
  expect(readdirSync(folder)).toEqual([]);
});

it('makes none of what cannot be read, and ends as with any fault of the ledger', async () => {
  const { log } = await settlementScene(1);
  log.write(accountStream(account(0)), [{ id: eventId(newId()), type: 'CreditsDebited', data: '[]', metadata: '{}' }]);
  const program = endedLater(await programInProcess(log));
  await expect(program.run('ledger', 'report', '--month', '2026-11')).rejects.toMatchObject({
    exitCode: EXIT.faults,
    message: expect.stringMatching(/^account-a0 revision 3 \(CreditsDebited\): .*; gateway ledger verify tells more$/),
  });
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
