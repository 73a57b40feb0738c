import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, commandId, grantId } from '../../contracts/ids.ts';
import type { CommandOf } from '../../ledger/account/commands.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { noSums } from '../../ledger/statement/open-months.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { fold, given } from '../fixtures/ledger/decider-specification.ts';
import { CARD, granted, keyIssued, ms, opened, usageOf, usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const MODEL = '=HYPERLINK("<img src=x onerror=alert(1)>")';
const STREAM = accountStream(accountId('acme'));
let program: ProgramInProcess;
let closeDecember: () => void;

/** What November has until it is closed, what comes late for it, and what December has. */
beforeAll(async () => {
  const log = new MemoryEventLog();
  const events: AccountEvent[] = [];
  const write = (recordedAt: string, ...added: AccountEvent[]): void => {
    events.push(...added);
    log.write(
      STREAM,
      encodeEvents(added, {
        commandId: commandId('019a5b3c-1111-7000-8000-000000000000'),
        actor: 'operator',
        recordedAt,
      }),
    );
  };
  const state = () => {
    const folded = fold(events);
    if (folded.type === 'unopened') throw new Error('not opened');
    return folded;
  };
  write('2026-11-05T10:00:00.000Z', opened, keyIssued(), granted('g', 1_000_000));
  write('2026-11-05T11:00:00.000Z', ...recordUsage(state(), usageOf(1, 250_000, { model: MODEL }), CARD));
  const sums = {
    ...noSums(),
    granted: 1_000_000n,
    debited: 250_000n,
  } as unknown as CommandOf<'CloseStatement'>['sums'];
  write(
    '2026-12-04T00:00:00.000Z',
    ...given(...events).decided({
      ...{ type: 'CloseStatement', month: '2026-11', sums, later: 0n, firstRevision: 2, lastRevision: 4, graceMs: 0 },
      nowMs: ms('2026-12-04T00:00:00.000Z'),
    }),
  );
  write('2026-12-05T10:00:00.000Z', ...recordUsage(state(), usageOf(2, 1_000), CARD));
  write('2026-12-06T10:00:00.000Z', granted('h', 5, { effectiveAt: '2026-12-06T10:00:00.000Z' }));
  const adjusted = given(...events).decided({
    ...{ type: 'AdjustBalance', adjustmentId: grantId('a'), direction: 'down', amount: usd(7) },
    ...{ reason: '=1+1 <b>goodwill</b>', actor: 'ops', nowMs: ms('2026-12-07T10:00:00.000Z') },
  });
  write('2026-12-07T10:00:00.000Z', ...adjusted);
  closeDecember = () => {
    const ofDecember = { ...noSums(), granted: 5n, debited: 1_000n, adjustedDown: 7n } as unknown as typeof sums;
    const nowMs = ms('2027-01-04T00:00:00.000Z');
    const closed = given(...events).decided({
      ...{ type: 'CloseStatement', month: '2026-12', sums: ofDecember, later: 0n, graceMs: 0, nowMs },
      ...{ firstRevision: 7, lastRevision: 9 },
    });
    write('2027-01-04T00:00:00.000Z', ...closed);
  };
  program = endedLater(await programInProcess(log), afterAll);
});

const said = (month: string, format: string): Promise<string> =>
  program.run('account', 'statement', 'acme', '--month', month, '--format', format);
const json = async (month: string) => JSON.parse(await said(month, 'json'));

describe('gateway account statement', () => {
  it('shows a closed month as it was closed, whatever came after it', async () => {
    expect(await json('2026-11')).toMatchObject({
      ...{ status: 'closed', opening: '0', closing: '750000', closed: { lastRevision: 4 } },
      sums: { granted: '1000000', debited: '250000', adjustedDown: '0' },
      models: [{ model: MODEL, debited: '250000' }],
      movements: [{ revision: 2, amount: '1000000' }],
    });
    expect((await json('2026-11')).days).toHaveLength(30);
  });

  it('shows a month that is not closed as far as it has come, late facts of closed ones in it, and says so', async () => {
    expect(await json('2026-12')).toMatchObject({
      ...{ status: 'open', opening: '750000', closing: '748998', closed: null },
      sums: { granted: '5', debited: '1000', adjustedDown: '7' },
    });
    expect(await said('2026-12', 'table')).toContain('2026-12 is not closed yet');
    expect(await said('2026-12', 'html')).toContain('2026-12 is not closed yet');
    expect(await json('2027-02')).toMatchObject({ status: 'open', opening: '748998', closing: '748998' });
  });

  it('shows a month in which nothing moved before one that is closed', async () => {
    expect(await json('2026-10')).toMatchObject({ status: 'none', opening: '0', closing: '0', movements: [] });
  });

  it('has no formula in its CSV, and no markup of others in its page, which loads nothing', async () => {
    const csv = await said('2026-11', 'csv');
    expect(csv).toContain("'=HYPERLINK");
    expect(csv).not.toMatch(/(^|,|")=/m);
    expect(csv).toContain('balance,,closing,,,,0.75\r\n');
    const page = await said('2026-11', 'html');
    expect(page).toContain('Closed at 2026-12-04T00:00:00.000Z');
    expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
    expect(page).not.toMatch(/<img|<script|<link|https?:/);
    expect(await said('2026-12', 'html')).not.toContain('<b>goodwill');
  });

  it('shows a month that is closed behind another one without what that one has counted', async () => {
    closeDecember();
    expect(await json('2026-12')).toMatchObject({
      ...{ status: 'closed', opening: '750000', closing: '748998' },
      sums: { granted: '5', debited: '1000', adjustedDown: '7' },
    });
    expect(await json('2026-11')).toMatchObject({ status: 'closed', opening: '0', closing: '750000' });
  });

  it('is of one account, and of none that there is not', async () => {
    await expect(program.run('account', 'statement', 'none', '--month', '2026-11')).rejects.toMatchObject({
      exitCode: EXIT.refused,
    });
  });
});
