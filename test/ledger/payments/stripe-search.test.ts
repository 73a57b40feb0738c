import { expect, it } from 'vitest';
import { findMade } from '../../../ledger/payments/stripe-search.ts';
import { LEDGER, STARTED_MS } from '../../fixtures/stripe/stripe-example.ts';

const HOUR_MS = 3_600_000;
const NAMES = { ledger: LEDGER, account: 'acme', attempt: 'bought', kind: 'purchase' };
const AS_IT_BEGAN = { gte: STARTED_MS / 1_000 - 120, lte: STARTED_MS / 1_000 + 120 };

/** What is made some milliseconds after the attempt began, newest first, as Stripe lists it; and what of it is listed. */
function stripeOf(others: readonly number[], made: number | null) {
  const at = (afterMs: number): number => Math.floor((STARTED_MS + afterMs) / 1_000);
  const all = others.map((afterMs) => ({ metadata: {}, created: at(afterMs) }));
  if (made !== null) all.push({ metadata: NAMES, created: at(made) });
  all.sort((one, other) => other.created - one.created);
  const listed: unknown[] = [];
  const look = () =>
    findMade({ startedAtMs: STARTED_MS }, NAMES, async function* (created) {
      listed.push(created);
      yield* all.filter((one) => one.created >= created.gte && one.created <= created.lte);
    });
  return { look, listed };
}

/** More than are looked through at once. */
const throughout = (fromMs: number, toMs: number): number[] =>
  Array.from({ length: 10_000 }, (_, at) => fromMs + ((toMs - fromMs) * at) / 10_000);

it('what was made as its attempt began is found by one list, however much was made since', async () => {
  const { look, listed } = stripeOf(throughout(HOUR_MS, 2 * HOUR_MS), 1_000);
  expect(await look()).toMatchObject({ metadata: NAMES });
  expect(listed).toEqual([AS_IT_BEGAN]);
});

it.each([-HOUR_MS, 3 * HOUR_MS, 11.5 * HOUR_MS, 11.5 * HOUR_MS + 1_000, 24 * HOUR_MS])(
  'what was made %i ms after its attempt began is found among more than are looked through at once',
  async (made) => {
    expect(await stripeOf(throughout(12 * HOUR_MS, 23 * HOUR_MS), made).look()).toMatchObject({ metadata: NAMES });
  },
);

it('what was never made is known, a day of more than are looked through at once notwithstanding', async () => {
  expect(await stripeOf(throughout(12 * HOUR_MS, 23 * HOUR_MS), null).look()).toBeNull();
});

it('where too many were made in an hour it is not known whether it is there', async () => {
  const { look, listed } = stripeOf(throughout(5 * HOUR_MS, 5.1 * HOUR_MS), null);
  await expect(look()).rejects.toThrow('attempt bought is not among 10000 of an hour at Stripe');
  expect(listed.length).toBeLessThan(20);
});
