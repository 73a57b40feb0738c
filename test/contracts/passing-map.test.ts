import { setImmediate as nextTurn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PassingMap } from '../../contracts/passing-map.ts';

const change = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), value: fc.option(fc.nat(), { nil: null }) });

it('holds what a map holds, and in its order, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const known = new Map<string, number>();
      const passing = new PassingMap<string, number>();
      for (const { key, value } of changes) {
        if (value === null) expect(passing.delete(key)).toBe(known.delete(key));
        else {
          known.set(key, value);
          passing.set(key, value);
        }
        expect([...passing.keys()]).toEqual([...known.keys()]);
        expect([...passing]).toEqual([...known.values()]);
        expect([passing.size, passing.has(key), passing.get(key)]).toEqual([
          known.size,
          known.has(key),
          known.get(key),
        ]);
      }
    }),
  );
});

setFlagsFromString('--expose-gc');
const collect: (options: { readonly type: 'minor' | 'major' }) => void = runInNewContext('gc');

it('keeps nothing alive that has left it, old as it may be itself', () => {
  const [entries, atOnce, numbers] = [20_000, 64, 128];
  const passing = new PassingMap<string, number[]>();
  for (let index = 0; index < atOnce; index++) passing.set(`key ${index}`, [index]);
  for (let times = 0; times < 3; times++) collect({ type: 'minor' });
  const before = oldBytes();
  for (let index = atOnce; index < entries; index++) {
    const value = Array.from({ length: numbers }, () => index);
    passing.set(`key ${index}`, value);
    passing.delete(`key ${index - atOnce}`);
    if (index % 1_000 === 0) collect({ type: 'minor' });
  }
  expect(passing.size).toBe(atOnce);
  expect(oldBytes() - before).toBeLessThan((entries * numbers * 8) / 4);
});

it('lets go of what has left it, though nothing comes after it', async () => {
  const passing = new PassingMap<string, object>();
  const left = new WeakRef({});
  passing.set('key', left.deref() ?? {});
  passing.delete('key');
  await nextTurn();
  collect({ type: 'major' });
  expect(left.deref()).toBeUndefined();
});

it('grows with what is in it at once, and not with what has been', () => {
  const passing = new PassingMap<string, number>();
  collect({ type: 'major' });
  const before = process.memoryUsage().heapUsed;
  for (let times = 0; times < 1_000_000; times++) {
    passing.set('key', times);
    passing.delete('key');
  }
  collect({ type: 'major' });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2_000_000);
  expect(passing.size).toBe(0);
});

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;
