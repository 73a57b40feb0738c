import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountStream, commandId } from '../../contracts/ids.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, granted, lifeWith, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ID = commandId('019a5b3c-1111-7000-8000-000000000000');
/** An event at the first and the last instant of a month, and beside it. */
const TIMES = [
  '2026-10-31T23:59:59.999Z',
  '2026-11-01T00:00:00.000Z',
  '2026-11-30T23:59:59.999Z',
  '2026-12-01T00:00:00.000Z',
];

let program: ProgramInProcess;
let report = '';
beforeAll(async () => {
  const log = new MemoryEventLog();
  const events = TIMES.flatMap((recordedAt, at) =>
    encodeEvents([at === 0 ? opened : granted(`g${at}`, at)], { commandId: ID, actor: 'operator', recordedAt }),
  );
  const used = usageOf(1, 0, { upstream: { provider: 'example', model: 'opal', requestId: 'r1' } });
  const last = encodeEvents([{ type: 'UsageRecorded', data: used }], {
    ...{ commandId: ID, actor: 'operator', recordedAt: '2026-12-02T00:00:00.000Z' },
  });
  log.write(accountStream(ACCOUNT), [...events, ...last]);
  program = await programInProcess(log);
  report = join(temporaryFolder(), 'usage.csv');
  writeFileSync(report, 'request_id,output_tokens\nr1,0\n');
  return () => program.close();
});

/** The times of what is in the range. */
const COMMANDS: Readonly<Record<string, (...range: readonly string[]) => Promise<unknown>>> = {
  replay: async (...range) => timesIn(await program.run('--json', 'ledger', 'replay', ACCOUNT, ...range)),
  export: async (...range) => timesIn(await program.run('ledger', 'export', '--format', 'ndjson', ...range)),
  reconcile: async (...range) => {
    const words = ['ledger', 'reconcile', report, '--provider', 'example', '--no-record', ...range];
    const { from, to } = await program.json(...words);
    return TIMES.filter((time) => time >= String(from) && time < String(to));
  },
};
const timesIn = (lines: string): string[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).metadata.recordedAt)
    .filter((time) => TIMES.includes(time));

describe.each(Object.keys(COMMANDS))('gateway ledger %s', (name) => {
  const run = (...range: readonly string[]) => COMMANDS[name]?.(...range);

  it.each([
    ['2026-11', '2026-11', [1, 3]],
    ['2026-11-01', '2026-12-01', [1, 3]],
    ['2026-11-01T00:00Z', '2026-11-30T23:59:59.999Z', [1, 2]],
    ['2026-11-01T00:00:00.001Z', '2026-12', [2, 4]],
    ['2026-10-31', '2026-11-01T01:00+01:00', [0, 1]],
    ['1970-01', '9999-11', [0, 4]],
  ])('has from %s to %s what is in it', async (from, to, [first, end]) => {
    // A reconciliation is kept as text, and bounded by a year less.
    const until = name === 'reconcile' && to === '9999-11' ? '9998-12-31' : to;
    expect(await run('--from', from, '--to', until)).toEqual(TIMES.slice(first, end));
  });

  it.each([
    ['2026-13', /expected a month such as 2026-01/],
    ['2026-11-31', /expected a date that there is/],
    ['noon', /expected a date that there is/],
    ['2026-11-03T14:17:22', /expected an offset behind the time/],
    ['0050-01', /expected a time of the years 1970 to 9999/],
    ['1969-12-31', /expected a time of the years 1970 to 9999/],
    ['9999-12-31T23:59:59-01:00', /expected a time of the years 1970 to 9999/],
  ])('refuses %s at either end', async (text, says) => {
    for (const option of ['--from', '--to'])
      await expect(run(option, text)).rejects.toMatchObject({
        code: 'commander.invalidArgument',
        message: expect.stringMatching(says),
      });
  });

  it('refuses a range in which nothing can be, and the last month, which ends behind all years', async () => {
    for (const [from, to] of [
      ['2026-11', '2026-10'],
      ['2026-11-05', '2026-11-05'],
    ] as const)
      await expect(run('--from', from, '--to', to)).rejects.toMatchObject({
        ...{ exitCode: EXIT.usage, message: '--from: must be before --to' },
      });
    await expect(run('--to', '9999-12')).rejects.toThrow(/expected a time of the years 1970 to 9999/);
  });
});

it('a month before all years is none that a report is of', () =>
  expect(program.run('ledger', 'report', '--month', '0050-02')).rejects.toThrow(/the years 1970 to 9999/));

describe('a month that has not begun', () => {
  const OF_MONTHS: Readonly<Record<string, readonly string[]>> = {
    'account usage': [ACCOUNT],
    'account statement': [ACCOUNT],
    'catalog diff': ['contracts/example-catalog.yaml'],
    'ledger report': [],
  };

  it('is refused by each command that takes one, in the same words', async () => {
    const { commands: groups } = await gatewayProgram(program.context);
    const ofMonths = groups.flatMap((group) =>
      group.commands
        .filter(({ options }) => options.some(({ long }) => long === '--month'))
        .map((one) => `${group.name()} ${one.name()}`),
    );
    expect(ofMonths.toSorted()).toEqual(Object.keys(OF_MONTHS).toSorted());
    program.clock = () => Date.parse('2026-12-31T23:59:59.999Z');
    for (const name of ofMonths)
      await expect(
        program.run(...name.split(' '), ...(OF_MONTHS[name] ?? []), '--month', '2027-01'),
        name,
      ).rejects.toMatchObject({
        ...{ exitCode: EXIT.usage, message: '--month: 2027-01 has not begun; the newest month that has is 2026-12' },
      });
  });

  it('by a clock that is behind the ledger’s is none of which that has something, whichever of them asks', async () => {
    const life = lifeWith([opened, granted('g1', 1_000_000)], usageOf(1, 1_000));
    // Usage is rated by what the catalog has, and there is none: a debit alone is of the month, too.
    const debits = life.filter(({ type }) => type !== 'UsageRecorded');
    const behind = async (events: readonly AccountEvent[]) => {
      const log = new MemoryEventLog();
      const recording = { commandId: ID, actor: 'operator', recordedAt: TIMES[1] ?? '' };
      log.write(accountStream(ACCOUNT), encodeEvents(events, recording));
      const started = endedLater(await programInProcess(log));
      started.clock = () => Date.parse('2026-10-31T23:59:59.999Z');
      return started;
    };
    for (const [name, of] of Object.entries(OF_MONTHS)) {
      const asked = await behind(name === 'catalog diff' ? debits : life);
      const month = (which: string) => asked.run(...name.split(' '), ...of, '--month', which);
      expect(await month('2026-11'), name).toContain('2026-11');
      await expect(month('2026-12'), name).rejects.toMatchObject({ exitCode: EXIT.usage });
    }
  });

  it('by a clock that is behind the ledger’s has begun where another account has something of it', async () => {
    program.clock = () => Date.parse('2026-11-30T23:59:59.999Z');
    expect(await program.run('ledger', 'report', '--month', '2026-12')).toContain('The month is not over');
    expect(await program.run('account', 'usage', ACCOUNT, '--month', '2026-11')).toContain('has used nothing');
  });
});
