import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { bookEntries } from '../../../ledger/export/book-entries.ts';
import { focusForm } from '../../../ledger/export/focus-form.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { live, lives } from '../../fixtures/ledger/random-life.ts';
import { storedLife } from '../statement/stored-life.ts';

/** Of FOCUS 1.2, what is mandatory; by the `Feature level` of each column's page. */
const MANDATORY = [
  ...['BilledCost', 'BillingAccountId', 'BillingAccountName', 'BillingCurrency', 'BillingPeriodEnd'],
  ...['BillingPeriodStart', 'ChargeCategory', 'ChargeClass', 'ChargeDescription', 'ChargePeriodEnd'],
  ...['ChargePeriodStart', 'ContractedCost', 'EffectiveCost', 'InvoiceIssuerName', 'ListCost', 'PricingQuantity'],
  ...['PricingUnit', 'ProviderName', 'PublisherName', 'ServiceCategory', 'ServiceName'],
];
/** Of those, what is never null. */
const NEVER_EMPTY = MANDATORY.filter(
  (name) =>
    !['ChargeClass', 'PricingQuantity', 'PricingUnit', 'BillingAccountName', 'ChargeDescription'].includes(name),
);

async function rowsOf(events: readonly RecordedEvent[]): Promise<Record<string, string>[]> {
  const recorded = (async function* () {
    yield* events;
  })();
  let text = '';
  for await (const chunk of bookEntries(recorded, { from: null, to: null }, focusForm())) text += chunk;
  const [head = '', ...lines] = text.trimEnd().split('\r\n');
  // Only the details of a price have quotes and commas.
  const fields = (line: string): string[] => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/);
  const names = fields(head);
  return lines.map((line) => Object.fromEntries(fields(line).map((field, at) => [names[at], field])));
}

/** Pico-USD of a decimal. */
const picoOf = (text = ''): bigint => {
  const [whole = '', part = ''] = text.replace('-', '').split('.');
  return BigInt(whole + part.padEnd(12, '0')) * (text.startsWith('-') ? -1n : 1n);
};
const sumOf = (rows: readonly Record<string, string>[], column: string): bigint =>
  rows.reduce((sum, row) => sum + picoOf(row[column]), 0n);

it('has every mandatory column, and what was billed is what was used of it, what is left, less what is owed', async () => {
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
      const debits = events.filter(({ type }) => type === 'CreditsDebited' || type === 'ExceptionApproved');
      expect(sumOf(usage, 'ListCost')).toBe(
        debits.reduce((sum, { data }) => sum + ('cost' in data ? data.cost : 0n), 0n),
      );
      for (const row of rows) {
        expect(Object.keys(row)).toEqual(expect.arrayContaining(MANDATORY));
        expect(Object.keys(row)).toEqual(Object.keys(row).toSorted((one, other) => (one < other ? -1 : 1)));
        for (const name of NEVER_EMPTY) expect([name, row[name]]).not.toEqual([name, '']);
        expect((row.ChargePeriodStart ?? '') < (row.ChargePeriodEnd ?? '')).toBe(true);
      }
      for (const row of usage)
        expect(picoOf(row.ListUnitPrice) * BigInt(row.PricingQuantity ?? '')).toBe(picoOf(row.ListCost));
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
