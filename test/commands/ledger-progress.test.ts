import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, commandId } from '../../contracts/ids.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { fillLedger } from '../bench/fill-ledger.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { opened } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHereWith } from '../fixtures/processes/run-here.ts';
import { PROGRAM } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { copySite, open } from './copy-site.ts';

const ACCOUNTS = 5_000;
const MINUTE_MS = 60_000;
const report = join(temporaryFolder(), 'usage.csv');
writeFileSync(report, 'date,model,output_tokens\n2026-11-05,opal,1\n');

const log = new MemoryEventLog();
const [born] = encodeEvents([opened], {
  commandId: commandId('019a5b3c-1111-7000-8000-00000000000a'),
  ...{ actor: 'operator', recordedAt: '2026-11-05T10:00:00.000Z' },
});
for (let at = 0; at < ACCOUNTS && born !== undefined; at++) log.write(accountStream(accountId(`a${at}`)), [born]);

it.each([
  ['explain, where it looks for a request', ['ledger', 'explain', 'msg_none']],
  ['reconcile', ['ledger', 'reconcile', report, '--provider', 'example', '--no-record']],
  ['verify --seals', ['ledger', 'verify', '--seals']],
  ['report', ['ledger', 'report', '--month', '2026-10', '--json']],
  ['export to a file', ['ledger', 'export', '--format', 'hledger', '--out', join(temporaryFolder(), 'ledger.journal')]],
  ['export to another program', ['ledger', 'export', '--format', 'csv']],
])('%s tells beside its answer how far it is, with its rate and the time left', async (_what, words) => {
  expect(await toldBeside(words)).toMatch(/^8[12]% of 5,000 events, \d+\/s, \d+ (?:s|min \d+ s) left\n/);
});

it('a rebuild of the views tells it, too', async () => {
  const told = await toldBeside(['projections', 'rebuild', '--all']);
  expect(told).toMatch(/^(?:\d+% of \d,\d{3} events, \d+\/s, \d+ (?:s|min \d+ s) left\n)+$/);
});

it('export tells nothing between the lines that it writes to a terminal', async () => {
  expect(await toldBeside(['ledger', 'export', '--format', 'csv'], { columns: 80 })).toBeNull();
});

it('backup, restore, also of what the backup lacks, and copy tell it, too', async () => {
  const { inFile, data, store } = await copySite();
  const ledger = join(data, 'ledger.db');
  mkdirSync(data);
  // More than are copied at once.
  await fillLedger(ledger, { accounts: 3, events: 8_000 });
  const told = (...words: readonly string[]) => toldBesideHere('--config', inFile, 'ledger', ...words);
  const backup = join(temporaryFolder(), 'backup');
  expect(await told('backup', backup)).toMatch(/^\d+% of [\d,]+ pages, [\d,]+\/s, \d+ (?:s|min \d+ s) left\n/);
  expect(await open(inFile, 'late')).toMatchObject({ exitCode: 0 });
  const restored = join(temporaryFolder(), 'restored');
  expect(await told('restore', backup, '--data', restored, '--from-copy', ledger)).toMatch(
    /^\d+% of [\d,]+ bytes, [\d,]+\/s, [^\n]+ left\n(?:.+ bytes, .+\n)*\d+% of 8,\d{3} events, [\d,]+\/s, [^\n]+ left\n/,
  );
  expect(await told('copy', '--to', store.connectionString, '--copy-only')).toMatch(
    /^\d+% of 8,\d{3} events, [\d,]+\/s, \d+ (?:s|min \d+ s) left\n/,
  );
});

describe('a process of its own', () => {
  // By a clock in which a minute passes each time that it is looked at.
  const HASTY = 'const now = Date.now; let ms = 0; Date.now = () => now() + (ms += 60_000);';
  const data = temporaryFolder();
  const words = [
    ...['--import', `data:text/javascript,${encodeURIComponent(HASTY)}`, PROGRAM],
    ...['--json', 'ledger', 'verify', '--seals', '--data', data],
  ];
  const ANSWER = { events: expect.any(Number), seals: 0, faults: [] };
  beforeAll(async () => {
    await fillLedger(join(data, 'ledger.db'), { accounts: 3, events: 5_000 });
  });

  it('has its progress on stderr, and on stdout its answer alone', () => {
    const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toMatchObject(ANSWER);
    expect(stderr).toMatch(/^8[12]% of 5,0\d\d events, \d+\/s, \d+ (?:s|min \d+ s) left\n/);
  });

  it.skipIf(spawnSync('script', ['--version']).status !== 0)('draws it as a bar where that is a terminal', () => {
    const file = join(temporaryFolder(), 'stdout');
    const line = `${[process.execPath, ...words].map((word) => `'${word}'`).join(' ')} > '${file}'`;
    const shown = spawnSync('script', ['-qec', line, '/dev/null'], {
      encoding: 'utf8',
      input: '',
      env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh' },
    }).stdout;
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(ANSWER);
    expect(shown).toMatch(/\[=+-*\] 8[12]% of 5,0\d\d events, /);
  });
});

/** What is told on stderr, by a clock in which a minute passes each time that it is looked at. */
async function toldBeside(
  words: readonly string[],
  terminal: Pick<CommandContext, 'columns'> = {},
): Promise<string | null> {
  const program = endedLater(await programInProcess(log));
  const { told, ...hasty } = hastily();
  await runGatewayProgram({ ...program.context, ...terminal, ...hasty }, ['--config', program.file, ...words]);
  return told();
}

/** The same of a command on files. */
async function toldBesideHere(...words: readonly string[]): Promise<string | null> {
  const { told, ...hasty } = hastily();
  expect(await runHereWith(hasty, ...words)).toMatchObject({ exitCode: 0 });
  return told();
}

function hastily() {
  const progressStream = Object.assign(new PassThrough({ encoding: 'utf8' }), {
    isTTY: false,
  }) as unknown as NodeJS.WriteStream;
  let nowMs = Date.UTC(2026, 10, 5);
  return {
    progressStream,
    clock: (): number => (nowMs += MINUTE_MS),
    told: () => progressStream.read() as unknown as string | null,
  };
}
