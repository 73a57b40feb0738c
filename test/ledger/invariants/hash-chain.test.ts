import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type VerifySealsOptions, verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { logOf, newTestKey, type Row, sealed, sealsIn } from '../../fixtures/ledger/sealed-rows.ts';
import { type Commands, lived, wholeHistories } from '../model/histories.ts';

const key = newTestKey();
type Leaves = NonNullable<VerifySealsOptions['leaves']>;
type Digests = ReturnType<Leaves['range']>;

const flipped = (text: string, place: number): string => {
  const spot = place % text.length;
  return `${text.slice(0, spot)}${text[spot] === '0' ? '1' : '0'}${text.slice(spot + 1)}`;
};

const damages = fc.oneof(
  fc.record({
    how: fc.constant('flip' as const),
    field: fc.constantFrom('stream', 'id', 'type', 'data', 'metadata' as const),
    place: fc.nat(),
  }),
  fc.record({ how: fc.constantFrom('delete' as const, 'swap' as const, 'insert' as const, 'cut' as const) }),
);
type Damage = typeof damages extends fc.Arbitrary<infer D> ? D : never;

/** @param at of the events @param other another of them */
function damaged(rows: readonly Row[], damage: Damage, at: number, other: number): Row[] {
  const [one, two] = [rows[at] as Row, rows[other] as Row];
  switch (damage.how) {
    case 'flip':
      return rows.with(at, { ...one, [damage.field]: flipped(one[damage.field], damage.place) });
    case 'delete':
      return rows.toSpliced(at, 1);
    case 'swap':
      return rows.with(at, two).with(other, one);
    case 'insert':
      return rows.toSpliced(at, 0, two);
    case 'cut':
      return rows.slice(0, at);
  }
}

it('invariant 20: hash chain: whatever is done to a sealed event of any history is found, and the first that is not as it was is named', async () => {
  const seen = new Set<string>();
  const [place, every] = [fc.nat(), fc.integer({ min: 1, max: 9 })];
  await fc.assert(
    fc.asyncProperty(
      wholeHistories,
      damages,
      place,
      place,
      every,
      async (commands: Commands, damage, one, two, every) => {
        const rows: Row[] = recordedLife(lived(commands).life);
        const good = sealed(rows, { key, every });
        const covered = rows.length - (rows.length % every);
        fc.pre(covered > 1);
        const [at, other] = [one % covered, two % covered];
        fc.pre(at !== other);
        const leaves: Digests[number][] = [];
        const anchors = sealsIn(good).slice(-1);
        const whole = await verifySeals(logOf(good), {
          ...{ keys: null, anchors, leaves: null, onLeaves: (more) => leaves.push(...more) },
        });
        expect(whole).toMatchObject({ verdict: 'anchored', faults: [], anchored: covered });

        const standsAt = (ordinal: number): number => good.indexOf(rows[ordinal] as Row);
        const kept: Leaves = { range: (first, count) => leaves.slice(first, first + count) };
        const bad = damaged(good, damage, standsAt(at), standsAt(other));
        const verdict = await verifySeals(logOf(bad), { keys: null, anchors, leaves: kept });
        expect(verdict.verdict).toBe('damaged');
        // Where there are fewer events than were sealed, it is the seal that tells, and names none of its last range.
        const isTail =
          damage.how === 'cut' || (damage.how === 'delete' && covered === rows.length && at >= covered - every);
        if (!isTail) expect(verdict.event).toMatchObject({ ordinal: damage.how === 'swap' ? Math.min(at, other) : at });
        seen.add(damage.how === 'flip' ? damage.field : damage.how);
      },
    ),
    { numRuns: 150 },
  );
  expect([...seen].toSorted()).toEqual(['cut', 'data', 'delete', 'id', 'insert', 'metadata', 'stream', 'swap', 'type']);
});
