import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountId } from '../../../contracts/ids.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { liveInTime, lives } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

type Timed = { readonly event: AccountEvent; readonly atMs: number };

/** The events of an account of a product, each with when it was written down. */
function lifeOf(
  product: string,
  steps: readonly Timed[],
): { readonly atMs: number; readonly recorded: RecordedEvent }[] {
  const life = steps.map(({ event, atMs }) => ({
    event: event.type === 'AccountOpened' ? { ...event, data: { ...event.data, product } } : event,
    atMs,
  }));
  return recordedLife(life, accountId(`of_${product}`)).map((recorded, at) => ({
    atMs: life[at]?.atMs ?? 0,
    recorded,
  }));
}

function figuresOf(month: string, events: ReturnType<typeof lifeOf>, product?: string) {
  const books = new MonthBooks(month, new SealCoverage(month), product);
  for (const { recorded } of events) books.take(recorded);
  const { events: _all, product: _whose, seals: _none, notes, payments, ...figures } = books.result();
  return { ...figures, notes: notes.all, payments: [payments.sums, payments.notes.all] };
}

it('the books of one product are as though there were no accounts of others, and those of all have the sums of each', () => {
  let moved = 0;
  fc.assert(
    fc.property(lives, lives, (one, other) => {
      const [ours, theirs] = [lifeOf('gateway', liveInTime(one)), lifeOf('images', liveInTime(other))];
      const log = [...ours, ...theirs].toSorted((first, second) => first.atMs - second.atMs);
      for (const month of ['2026-12', '2027-01']) {
        const alone = [figuresOf(month, ours), figuresOf(month, theirs)];
        expect([figuresOf(month, log, 'gateway'), figuresOf(month, log, 'images')]).toEqual(alone);
        expect(figuresOf(month, log).products).toEqual(alone.flatMap(({ products }) => products));
        moved += alone.every(({ products }) => products.some(({ spent }) => spent > 0n)) ? 1 : 0;
      }
    }),
    { numRuns: 50 },
  );
  expect(moved).toBeGreaterThan(0);
});
