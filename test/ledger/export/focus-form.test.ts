import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { bookEntries } from '../../../ledger/export/book-entries.ts';
import { focusForm } from '../../../ledger/export/focus-form.ts';
import { fold, given } from '../../fixtures/ledger/decider-specification.ts';
import { CARD, granted, lifeWith, opened, requestOf, usageOf, usd } from '../../fixtures/ledger/example-account.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { storedLife } from '../statement/stored-life.ts';
import { type FocusRow, focusFaults, picoOf } from './focus-rules.ts';

async function rowsOf(events: readonly RecordedEvent[], from: string | null = null): Promise<FocusRow[]> {
  const pages = (async function* () {
    yield events;
  })();
  let text = '';
  for await (const chunk of bookEntries(pages, { from, to: null }, focusForm())) text += chunk;
  const [header = [], ...lines]: string[][] = parse(text);
  const rows = lines.map((line) => Object.fromEntries(line.map((field, at) => [header[at], field])));
  expect(focusFaults(header, rows)).toEqual([]);
  expect(header).toEqual(header.toSorted((one, other) => (one < other ? -1 : 1)));
  return rows;
}

const sumOf = (rows: readonly FocusRow[], column: string): bigint =>
  rows.reduce((sum, row) => sum + picoOf(row[column]), 0n);

it('is as FOCUS has it, and what was billed is what was used of it, what is left, less what is owed', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (steps) => {
      const events = live(steps).map((event, at) =>
        event.type === 'CreditsGranted' && event.data.costBasis > 0n
          ? {
              ...event,
              data: { ...event.data, costBasis: microUsd((event.data.amount * BigInt(1 + (at % 7))) / 5n + 1n) },
            }
          : event,
      );
      const rows = await rowsOf(storedLife(events));
      const state = fold(events);
      if (state.type === 'unopened') throw new Error('a life begins with its account');
      const paidLeft = state.grants.reduce((sum, { amount, costBasis, remaining }) => {
        const paid = costBasis < amount ? costBasis : amount;
        return sum + (amount === 0n ? 0n : (paid * remaining) / amount);
      }, 0n);
      const left = (paidLeft - state.uncovered) * 1_000_000n;
      expect(sumOf(rows, 'BilledCost')).toBe(sumOf(rows, 'EffectiveCost') + left);
      const usage = rows.filter(({ ChargeCategory }) => ChargeCategory === 'Usage');
      const ended = new Set(events.map((event) => (event.type === 'ExceptionApproved' ? event.data.requestId : null)));
      const listed = events.map((event) => {
        if (event.type === 'LateUsageReported') return ended.has(event.data.requestId) ? event.data.cost : 0n;
        return event.type === 'CreditsDebited' ? event.data.cost : 0n;
      });
      expect(sumOf(usage, 'ListCost')).toBe(listed.reduce<bigint>((sum, cost) => sum + cost, 0n));
    }),
    { numRuns: 60 },
  );
});

it('each row is of the month in which its event was written down, and of the second', async () => {
  const times = ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z', '2026-12-31T23:59:59.000Z'];
  const grants = times.map((effectiveAt, at) => ({
    type: 'CreditsGranted' as const,
    data: {
      ...{ grantId: grantId(`g${at}`), source: 'purchase' as const, amount: microUsd(5n), costBasis: microUsd(5n) },
      ...{ priority: 1, effectiveAt, expiresAt: null },
    },
  }));
  const stored = storedLife(grants).map((event, at) => ({
    ...event,
    metadata: JSON.stringify({ ...JSON.parse(event.metadata), recordedAt: times[at] }),
  }));
  const ofMonth = ['2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'];
  expect(
    (await rowsOf(stored)).map((row) => [
      ...[row.BillingPeriodStart, row.BillingPeriodEnd, row.ChargePeriodStart, row.ChargePeriodEnd],
    ]),
  ).toEqual([
    [...ofMonth, '2026-12-31T23:59:59Z', '2027-01-01T00:00:00Z'],
    ['2027-01-01T00:00:00Z', '2027-02-01T00:00:00Z', '2027-01-01T00:00:00Z', '2027-01-01T00:00:01Z'],
    [...ofMonth, '2026-12-31T23:59:59Z', '2027-01-01T00:00:00Z'],
  ]);
});

it.each([
  ['within a second', '10:00:00.100', '10:00:00.900', '10:00:00', '10:00:01'],
  ['over several', '10:00:00.100', '10:00:07.001', '10:00:00', '10:00:08'],
  ['to the end of one', '10:00:00.000', '10:00:07.000', '10:00:00', '10:00:07'],
  ['of no time, to the minute', '10:00:59.000', '10:00:59.000', '10:00:59', '10:01:00'],
  ['that ends before it began, by another clock', '10:00:05.000', '10:00:01.500', '10:00:05', '10:00:06'],
])('usage is of the seconds of its request: one %s', async (_, started, finished, start, end) => {
  const day = (time: string): string => `2026-11-05T${time}Z`;
  const life = storedLife(lifeWith([opened, granted('g', 1_000)], usageOf(1, 10)));
  const at = (text: string): string =>
    text
      .replace(/"startedAt":"[^"]*"/, `"startedAt":"${day(started)}"`)
      .replace(/"finishedAt":"[^"]*"/, `"finishedAt":"${day(finished)}"`);
  // As the codec writes it, as others may, and of another request.
  const forms = [at, (text: string) => JSON.stringify(JSON.parse(at(text)), null, 1)];
  for (const form of forms) {
    const stored = life.map((event) => (event.type === 'UsageRecorded' ? { ...event, data: form(event.data) } : event));
    const [row] = (await rowsOf(stored)).filter(({ ChargeCategory }) => ChargeCategory === 'Usage');
    expect([row?.ChargePeriodStart, row?.ChargePeriodEnd]).toEqual([day(start), day(end)]);
  }
  const another = (text: string) => at(text).replace(/req_[0-9a-f]{31}./, (id) => `${id.slice(0, -1)}f`);
  const stored = life.map((event) =>
    event.type === 'UsageRecorded' ? { ...event, data: another(event.data) } : event,
  );
  const [row] = (await rowsOf(stored)).filter(({ ChargeCategory }) => ChargeCategory === 'Usage');
  const recorded = stored.find(({ type }) => type === 'CreditsDebited');
  expect(row?.ChargePeriodStart).toBe(`${JSON.parse(recorded?.metadata ?? '').recordedAt.slice(0, 19)}Z`);
});

it('has money that went back as a correction of what was billed, and again where a dispute was won; its credits beside', async () => {
  const AT = '2026-11-20T10:00:00.000Z';
  const nowMs = Date.parse(AT);
  const payment = paymentId('pi_1');
  const told = { paymentId: payment, reason: 'told', actor: 'operator', nowMs };
  const start = { attemptId: attemptId('purchase_1'), provider: 'manual' };
  const life: AccountEvent[] = [opened];
  const then = (command: AccountCommand): void => void life.push(...given(...life).decided(command));
  then({ type: 'StartPurchase', ...start, amount: usd(90), price: usd(100), by: 'operator', nowMs });
  then({ type: 'RecordPayment', ...start, paymentId: payment, amount: usd(100), paidAtMs: nowMs, nowMs });
  then({ type: 'RecordRefund', ...told, refundId: 're_1', amount: usd(10), refundedAtMs: nowMs });
  then({ type: 'RecordDispute', ...told, disputeId: 'dp_1', amount: usd(50), openedAtMs: nowMs });
  then({ type: 'CloseDispute', ...told, disputeId: 'dp_1', outcome: 'won', closedAtMs: nowMs });
  then({ type: 'RecordDispute', ...told, disputeId: 'dp_2', amount: usd(90), openedAtMs: nowMs });
  then({ type: 'CloseDispute', ...told, disputeId: 'dp_2', outcome: 'lost', closedAtMs: nowMs });
  const rows = await rowsOf(storedLife(life));
  const isCorrection = ({ ChargeClass }: FocusRow): boolean => ChargeClass === 'Correction';
  expect(rows.map(isCorrection)).toEqual([false, false, ...Array.from({ length: 8 }, () => true)]);
  const shown = rows
    .filter(isCorrection)
    .map((row) => [
      ...['BilledCost', 'ListCost', 'EffectiveCost'].map((column) => Number(picoOf(row[column]) / 1_000_000n)),
      row.ChargeDescription,
    ]);
  expect(shown).toEqual([
    [-10, -10, -10, 'refund re_1: told'],
    [0, 0, 9, 'refund re_1: told'],
    [-50, -50, -50, 'dispute dp_1: told'],
    [0, 0, 45, 'dispute dp_1: told'],
    [50, 50, 50, 'dispute dp_1: told'],
    [0, 0, -45, 'dispute dp_1 was won: told'],
    [-90, -90, -90, 'dispute dp_2: told'],
    [0, 0, 81, 'dispute dp_2: told'],
  ]);
  expect([sumOf(rows, 'BilledCost'), sumOf(rows, 'EffectiveCost')]).toEqual([0n, 0n]);
});

it('has the list cost of each usage once: of an approval what was reported late, also before the period', async () => {
  const crashed = usageOf(2, 0, { outcome: 'recovered', source: 'estimated', billable: false });
  const life = lifeWith([opened, granted('g', 1_000)], usageOf(1, 7, { hold: microUsd(2n) }), crashed);
  const ending = { reason: 'test', actor: 'operator' };
  life.push(...given(...life).decided({ type: 'ReportLateUsage', usage: usageOf(2, 9), card: CARD }));
  const before = life.length;
  for (const number of [1, 2])
    life.push(...given(...life).decided({ type: 'ApproveException', requestId: requestOf(number), ...ending }));
  const stored = storedLife(life);
  for (const from of [null, JSON.parse(stored[before]?.metadata ?? '').recordedAt]) {
    const rows = (await rowsOf(stored, from)).filter(({ SkuMeter }) => SkuMeter === 'approved exception');
    const columns = ['ListCost', 'ContractedCost', 'ListUnitPrice', 'EffectiveCost'];
    expect(rows.map((row) => columns.map((name) => picoOf(row[name])))).toEqual([
      [0n, 0n, 0n, 5_000_000n],
      [9_000_000n, 9_000_000n, 9_000_000n, 9_000_000n],
    ]);
  }
});
