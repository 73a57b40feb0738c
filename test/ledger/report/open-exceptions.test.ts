import { expect, it } from 'vitest';
import { OpenExceptions } from '../../../ledger/report/open-exceptions.ts';

/** As many without an amount as an account's state keeps open, written down a second time on purpose. */
const KEPT = 1_000;

function full(): OpenExceptions {
  const exceptions = new OpenExceptions();
  for (let number = 1; number <= KEPT; number++) exceptions.openUnpriced(`req_${number}`);
  return exceptions;
}

it('without an amount are kept a thousand times an account, and beyond that counted, as what nobody ends', () => {
  const exceptions = full();
  exceptions.openUnpriced('req_beyond');
  expect(exceptions.withoutCost).toBe(KEPT + 1);
  exceptions.end('req_beyond');
  for (let number = 1; number <= KEPT; number++) exceptions.end(`req_${number}`);
  expect(exceptions.withoutCost).toBe(1);
});

it.each<[string, (exceptions: OpenExceptions) => void, bigint[]]>([
  ['ends', (exceptions) => exceptions.end('req_1'), []],
  ['gets an amount', (exceptions) => exceptions.open('req_1', 5n), [5n]],
])('have room for another where one %s', (_what, happens, costs) => {
  const exceptions = full();
  happens(exceptions);
  exceptions.openUnpriced('req_next');
  expect(exceptions.withoutCost).toBe(KEPT);
  exceptions.end('req_next');
  expect([exceptions.withoutCost, exceptions.costs]).toEqual([KEPT - 1, costs]);
});

it('with an amount are all kept, behind as many without one, too', () => {
  const exceptions = full();
  exceptions.openUnpriced('req_beyond');
  exceptions.open('req_beyond', 7n);
  expect([exceptions.withoutCost, exceptions.costs]).toEqual([KEPT + 1, [7n]]);
  exceptions.end('req_beyond');
  expect([exceptions.withoutCost, exceptions.costs]).toEqual([KEPT + 1, []]);
});
