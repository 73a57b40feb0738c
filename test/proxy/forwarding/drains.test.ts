import { expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { Drains } from '../../../proxy/forwarding/drains.ts';

const A = accountId('acct_a');
const B = accountId('acct_b');
const NEVER_UP = 100_000;
const ignore = (): void => undefined;

it('have places for each account, and not all of them for one', () => {
  const drains = new Drains({ max: 3, maxOfAccount: 2, ms: NEVER_UP });
  const ends = [drains.begin(A, ignore), drains.begin(A, ignore)];
  expect(drains.begin(A, ignore)).toBeNull();
  const ofB = drains.begin(B, ignore);
  expect(ofB).not.toBeNull();
  // All are taken.
  expect(drains.begin(B, ignore)).toBeNull();
  ends[0]?.();
  ends[0]?.();
  expect(drains.count).toBe(2);
  const again = drains.begin(A, ignore);
  expect(again).not.toBeNull();
  for (const end of [ends[1], again, ofB]) end?.();
  expect(drains.count).toBe(0);
});

it('give the place back when their time is up', async () => {
  const drains = new Drains({ max: 1, maxOfAccount: 1, ms: 1 });
  await new Promise<void>((resolve) => {
    drains.begin(A, resolve);
  });
  expect(drains.count).toBe(0);
  const end = drains.begin(A, ignore);
  expect(end).not.toBeNull();
  end?.();
});
