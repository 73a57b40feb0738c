import { expect, test } from 'vitest';
import { importedNames, isTest, SOURCES } from './source-files.ts';

/** Of one folder: its files and folders, each with those beside it that it imports, and which file of it imports which. */
type Imports = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** By folder; what lies further inside counts as the folder that stands there. */
function importsByFolder(sources: ReadonlyMap<string, string>): ReadonlyMap<string, Imports> {
  const folders = new Map<string, Map<string, Map<string, string>>>();
  for (const [file, text] of sources)
    for (const { from } of importedNames(file, text)) {
      const [one, other] = [file.split('/'), from.split('/')];
      const depth = one.findIndex((name, at) => name !== other[at]);
      const [importing = '', imported = ''] = [one[depth], other[depth]];
      const folder = `${one.slice(0, depth).join('/')}/`;
      const imports = folders.get(folder) ?? new Map<string, Map<string, string>>();
      folders.set(folder, imports);
      const of = imports.get(importing) ?? new Map<string, string>();
      imports.set(importing, of.set(imported, `${file} imports ${from}`));
    }
  return folders;
}

/** The shortest one of which `first` is the first by its name: each circle has one such. */
function circleFrom(first: string, imports: Imports): readonly string[] | null {
  const seen = new Set<string>();
  const paths: (readonly string[])[] = [[first]];
  for (const path of paths)
    for (const next of imports.get(path.at(-1) ?? '')?.keys() ?? []) {
      if (next === first) return [...path, first];
      if (next < first || seen.has(next)) continue;
      seen.add(next);
      paths.push([...path, next]);
    }
  return null;
}

function importCircles(sources: ReadonlyMap<string, string>): string[] {
  return [...importsByFolder(sources)].flatMap(([folder, imports]) =>
    [...imports.keys()].sort().flatMap((first) => {
      const circle = circleFrom(first, imports) ?? [];
      const steps = circle.slice(1).map((next, at) => imports.get(circle[at] ?? '')?.get(next));
      return circle.length === 0 ? [] : [`${folder}: ${[circle.join(' → '), ...steps].join('\n  ')}`];
    }),
  );
}

/** A folder is read, moved and changed by itself only where what it imports does not import it, however far round. */
test('no files and folders that stand beside one another import each other in a circle', () => {
  const product = new Map([...SOURCES].filter(([file]) => !isTest(file)));
  expect(product.size).toBeGreaterThan(400);
  expect(importCircles(product)).toEqual([]);
});

const importing = (...paths: string[]): string => paths.map((path) => `import type { A } from '${path}';\n`).join('');

test.each([
  [
    'of two folders, by different files of theirs',
    {
      'proxy/a/one.ts': importing('../b/inside/one.ts'),
      'proxy/b/inside/one.ts': importing('./two.ts'),
      'proxy/b/two.ts': importing('../a/two.ts'),
    },
    ['proxy/: a → b → a\n  proxy/a/one.ts imports proxy/b/inside/one.ts\n  proxy/b/two.ts imports proxy/a/two.ts'],
  ],
  [
    'of a file and a folder, round by a third',
    {
      'ledger/one.ts': importing('./a/one.ts'),
      'ledger/a/one.ts': importing('../b/one.ts'),
      'ledger/b/one.ts': importing('../one.ts', '../two.ts'),
    },
    [
      'ledger/: a → b → one.ts → a\n  ledger/a/one.ts imports ledger/b/one.ts\n  ledger/b/one.ts imports ledger/one.ts\n  ledger/one.ts imports ledger/a/one.ts',
    ],
  ],
  [
    'none where a folder imports what stands beside it, and is imported by another file there',
    { 'proxy/one.ts': importing('./a/one.ts'), 'proxy/a/one.ts': importing('../two.ts') },
    [],
  ],
])('a circle: %s', (_, sources, found) => {
  expect(importCircles(new Map(Object.entries(sources)))).toEqual(found);
});
