import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * Tests wait for what happens, however long it takes (test/README.md). These are the ways in which a test was found to
 * depend on how fast the machine is, and what stands instead.
 */
const FOUND: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  {
    pattern: /expect\((performance|Date)\.now\(\) - .*\)\.toBeLessThan/,
    instead: 'assert speed in the benchmark, and here what the speed stood for',
  },
  {
    pattern: /\bvi\.wait(For|Until)\(/,
    instead: 'expect.poll, whose bound vitest.config.ts sets: this one gives up after 1 s',
  },
  {
    pattern: /\btimeout: (\d{1,3}|[1-5]?\d_?\d{3})\b/,
    instead: 'no bound of its own, or one of a minute and more: one that never ends a wait costs nothing',
  },
];
const ROOT = join(import.meta.dirname, '..');
const files = globSync('test/**/*.ts', { cwd: ROOT }).filter((file) => !file.startsWith('test/bench/'));

const foundIn = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line, index) =>
      FOUND.filter(({ pattern }) => pattern.test(line)).map(
        ({ instead }) => `${index + 1}: ${line.trim()} (${instead})`,
      ),
    );

test('no test depends on how fast the machine is', () => {
  expect(files.length).toBeGreaterThan(100);
  const own = join('test', 'not-by-the-clock.test.ts');
  const found = files
    .filter((file) => file !== own)
    .flatMap((file) => foundIn(readFileSync(join(ROOT, file), 'utf8')).map((line) => `${file}:${line}`));
  expect(found).toEqual([]);
});

test.each([
  'expect(performance.now() - startedMs).toBeLessThan(1_000);',
  'expect(Date.now() - sentMs).toBeLessThanOrEqual(50);',
  'await vi.waitFor(() => expect(count).toBe(1));',
  'await expect.poll(statuses, { timeout: 1_000, interval: 20 }).toEqual([200]);',
  "it('is quick', { timeout: 500 }, async () => {",
  "it('is quick', { timeout: 59999 }, async () => {",
])('would be found: %s', (line) => {
  expect(foundIn(line)).toHaveLength(1);
});

test.each([
  'expect(performance.now() - startedMs).toBeGreaterThan(50);',
  'expect(ageMs).toBeLessThanOrEqual(Date.now() - startedMs);',
  'expect(Math.abs(idMs - Date.now())).toBeLessThan(DAY_MS);',
  "it('is long', { timeout: 60_000 }, async () => {",
  'timeout: RUN_MS_MAX,',
])('may stand: %s', (line) => {
  expect(foundIn(line)).toEqual([]);
});
