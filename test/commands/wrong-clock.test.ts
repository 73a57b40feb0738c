import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { compareCommandClock } from '../../proxy/clock/command-clock.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-06T12:00:00.000Z');
const CATALOG = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const REASON = ['--reason', 'test'];

/** One of each command that writes, with what it needs. */
const WRITING: readonly (readonly string[])[] = [
  ['account', 'open', '--email', 'bob@example.com'],
  ['account', 'suspend', 'acct_ada', ...REASON],
  ['account', 'reinstate', 'acct_ada', ...REASON],
  ['credits', 'grant', 'acct_ada', '--usd', '5'],
  ['credits', 'reinstate', 'acct_ada', '--grant', 'grant_trial', ...REASON],
  ['credits', 'revoke', 'acct_ada', '--grant', 'grant_trial', ...REASON],
  ['credits', 'restore', 'acct_ada', '--revocation', 'revocation_1', ...REASON],
  ['debit', 'reverse', 'req_0123', '--account', 'acct_ada', ...REASON],
  ['balance', 'adjust', 'acct_ada', '--down', '5', ...REASON],
  ['key', 'issue', 'acct_ada'],
  ['key', 'revoke', 'acct_ada', 'key_0123456789abcdef'],
  ['limit', 'set', 'acct_ada', '--usd', '5'],
  ['catalog', 'publish', CATALOG],
  ['exception', 'approve', 'req_0123', '--account', 'acct_ada', ...REASON],
  ['exception', 'drop', 'req_0123', '--account', 'acct_ada', ...REASON],
  ['ledger', 'forms', '--adopt'],
  ['ledger', 'accept-loss', ...REASON],
];

async function programAt(nowMs: number): Promise<ProgramInProcess> {
  const program = endedLater(await programInProcess());
  program.clock = () => nowMs;
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  return program;
}

describe("a command by a clock that is behind the ledger's newest event", () => {
  it('writes nothing, and says by how much it is behind, and what time it says', async () => {
    const program = await programAt(NOW);
    const before = await program.log.headPosition();
    program.clock = () => NOW - 40 * DAY_MS;
    for (const args of WRITING)
      await expect(program.run(...args)).rejects.toMatchObject({
        message: expect.stringMatching(
          /^the clock of this machine is 40 days behind the ledger's newest event: nothing is written by it\. It says 2026-09-27T12:00:00\.000Z\.\n.*--trust-clock/,
        ),
        exitCode: 3,
      });
    expect(await program.log.headPosition()).toBe(before);
  });

  it('reads, and writes within the bound, or where it is told that the ledger is the one that is wrong', async () => {
    const program = await programAt(NOW);
    program.clock = () => NOW - 4_000;
    await program.run('limit', 'set', 'acct_ada', '--usd', '5');
    program.clock = () => NOW - 40 * DAY_MS;
    expect(await program.run('key', 'list', 'acct_ada')).toContain('ends in');
    await program.run('--trust-clock', 'account', 'suspend', 'acct_ada', ...REASON);
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ suspended: 'test' });
  });
});

describe('a command that has written', () => {
  it('says at what time it did, which shows a clock that is ahead', async () => {
    const program = await programAt(NOW);
    const aheadAt = '2027-05-01T00:00:00.000Z';
    program.clock = () => Date.parse(aheadAt);
    for (const args of [
      ['account', 'open', '--email', 'bob@example.com'],
      ['credits', 'grant', 'acct_ada', '--usd', '5', '--id', 'ahead'],
      ['limit', 'set', 'acct_ada', '--usd', '5'],
      ['catalog', 'publish', CATALOG],
      ['account', 'suspend', 'acct_ada', ...REASON],
      ['account', 'reinstate', 'acct_ada', ...REASON],
      ['key', 'issue', 'acct_ada'],
    ])
      expect(await program.run(...args), args.join(' ')).toMatch(new RegExp(`\nwritten at ${aheadAt}\n$`));
    expect(await program.json('key', 'issue', 'acct_ada')).toMatchObject({ recordedAt: aheadAt });
    program.clock = () => NOW;
    const shown = await program.run('account', 'show', 'acct_ada');
    expect(shown).toMatch(/ahead .* {2}not before 2027-05-01T00:00:00\.000Z/);
  });

  it('says so where nothing had to be written', async () => {
    const program = await programAt(NOW);
    await program.run('limit', 'set', 'acct_ada', '--usd', '5');
    expect(await program.run('limit', 'set', 'acct_ada', '--usd', '5')).toMatch(
      /\nnothing was written: it is so already\n$/,
    );
    await program.run('catalog', 'publish', CATALOG);
    expect(await program.json('catalog', 'publish', CATALOG)).toMatchObject({ published: false, recordedAt: null });
  });
});

describe("beside a log whose server stamps what it takes, a command's clock is compared with the server's", () => {
  const bounds = { jumpMs: 5_000, steadyMs: 60_000, skewMs: 10_000 };

  it.each([
    ['within the bound', 9_000, null],
    ['ahead', 40 * DAY_MS, 'the clock of this machine is 40 days ahead of that of the event log'],
    ['behind', -11_000, 'the clock of this machine is 11 s behind that of the event log'],
  ])('%s', async (_title, offMs, expected) => {
    const log = stampingAt(NOW);
    const clock = { wall: () => NOW + offMs, monotonic: () => 0, bounds };
    // Nothing is there whose stamp would tell that there are stamps.
    expect(await compareCommandClock(log, clock)).toBe(null);
    const program = await programAt(NOW);
    for await (const { id, type, data, metadata } of program.log.readAll())
      await log.append('account-acct_ada' as never, -1 as never, [{ id, type, data, metadata }]);
    expect(await compareCommandClock(log, clock)).toBe(expected);
    // A second command finds what the first has written there.
    expect(await compareCommandClock(log, clock)).toBe(expected);
  });
});

function stampingAt(stampedAtMs: number): EventLog {
  const memory = new MemoryEventLog();
  async function* stamped(events: ReturnType<EventLog['readAll']>) {
    for await (const event of events) yield { ...event, stampedAtMs };
  }
  return {
    append: (...call) => memory.append(...call),
    readStream: (...call) => stamped(memory.readStream(...call)),
    readAll: (...call) => stamped(memory.readAll(...call)),
    subscribeAll: (...call) => memory.subscribeAll(...call),
    headPosition: () => memory.headPosition(),
    close: () => memory.close(),
  };
}

describe('a program that stays up', () => {
  it.each(['serve', 'relay'])('%s has no --trust-clock, which it would not heed', async (name) => {
    const program = endedLater(await programInProcess());
    for (const args of [
      [name, '--trust-clock'],
      ['--trust-clock', name],
    ])
      await expect(program.run(...args)).rejects.toMatchObject({
        code: 'commander.unknownOption',
        message: "error: unknown option '--trust-clock'",
      });
    const { commands } = await gatewayProgram(program.context);
    const help = commands.find((one) => one.name() === name)?.helpInformation();
    expect(help).toContain('--config');
    expect(help).not.toContain('--trust-clock');
  });
});
