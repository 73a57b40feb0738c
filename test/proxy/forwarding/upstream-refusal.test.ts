import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Refusal, retryHeaders } from '../../../contracts/errors.ts';
import {
  refusalForFailure,
  refusalForStatus,
  UNREADABLE,
  worthTelling,
} from '../../../proxy/forwarding/upstream-refusal.ts';

const failure = fc.oneof(
  fc
    .tuple(fc.constantFrom(401, 403, 429, 500, 502, 503, 529), fc.option(fc.integer({ min: 0, max: 40 })))
    .map(([status, after]) => refusalForStatus(status, after)),
  fc
    .constantFrom('unreached' as const, 'descriptors' as const, 'timeout' as const, 'overdue' as const)
    .map(refusalForFailure),
  fc.constant(UNREADABLE),
);

const told = (failures: readonly Refusal[]): Refusal | null =>
  failures.reduce<Refusal | null>((one, other) => worthTelling(one, other), null);

it('of several failures one is told, the same in whichever order they came', () => {
  fc.assert(
    fc.property(
      fc
        .array(failure, { minLength: 1, maxLength: 4 })
        .chain((failures) =>
          fc.tuple(fc.constant(failures), fc.shuffledSubarray(failures, { minLength: failures.length })),
        ),
      ([failures, shuffled]) => {
        expect(failures).toContainEqual(told(failures));
        expect(told(shuffled)).toEqual(told(failures));
      },
    ),
  );
});

it('another try is advised against only where none of them is worth one', () => {
  fc.assert(
    fc.property(fc.array(failure, { minLength: 1, maxLength: 4 }), (failures) => {
      const isWorthIt = (refused: Refusal): boolean => retryHeaders(refused)['x-should-retry'] === 'true';
      const one = told(failures);
      expect(one !== null && isWorthIt(one)).toBe(failures.some(isWorthIt));
    }),
  );
});

it.each([
  [0, 1],
  [1, 1],
  [7, 7],
])('a retry-after of %i seconds is told as %i: none would be no wait at all', (said, after) => {
  for (const status of [429, 529]) expect(refusalForStatus(status, said)).toMatchObject({ retryAfterS: after });
});
