import { expect, test } from 'vitest';
import { EVENT_SCHEMAS } from '../contracts/events.ts';
import { exportedNames, importedNames, isTest, namedFiles, SOURCES } from './source-files.ts';

/** What is started by hand: the program, the example of a reader of the feed, and the auditor's verifier. */
const PROGRAMS = ['proxy/main.mjs', 'proxy/main.ts', 'ledger/feed/example.ts', 'ledger/seals/verify-export.mjs'];
/** Vitest calls it, in the files that `globalSetup` names. */
const CALLED_BY_VITEST = 'setup';

/** Why an exported name should not be one; null where it should. A type may stand beside what its own file says with it. */
function whyIdle(text: string, name: string, importers: readonly string[], isOfTests: boolean): string | null {
  if (importers.some((importer) => isOfTests || !isTest(importer))) return null;
  const isUsedHere = text.split(name).length > 2;
  if (importers.length > 0) return isUsedHere ? null : 'tests alone use it';
  const isType = text.includes(`export interface ${name}`) || text.includes(`export type ${name}`);
  return isType && isUsedHere ? null : 'no other file imports it';
}

function idleExports(sources: ReadonlyMap<string, string>): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, text] of sources)
    for (const { from, name } of importedNames(file, text))
      importers.set(`${from} ${name}`, [...(importers.get(`${from} ${name}`) ?? []), file]);
  return [...sources].flatMap(([file, text]) =>
    exportedNames(text).flatMap((name) => {
      if (isTest(file) && name === CALLED_BY_VITEST) return [];
      const by = [...(importers.get(`${file} ${name}`) ?? []), ...(importers.get(`${file} *`) ?? [])];
      const why = whyIdle(text, name, by, isTest(file));
      return why === null ? [] : [`${file}: ${name} (${why})`];
    }),
  );
}

test('every exported name is used, one of the product by more than tests', () => {
  expect(SOURCES.size).toBeGreaterThan(1_000);
  expect(idleExports(SOURCES)).toEqual([]);
});

test('every file of the product is reached from a program', () => {
  const reached = new Set<string>();
  const reach = (file: string): void => {
    const text = SOURCES.get(file);
    if (text === undefined || reached.has(file)) return;
    reached.add(file);
    namedFiles(file, text).forEach(reach);
  };
  PROGRAMS.forEach(reach);
  expect([...SOURCES.keys()].filter((file) => !isTest(file) && !reached.has(file))).toEqual([]);
});

test('a test that starts a gateway has the name of a source beside its own, or stands under a behaviour', () => {
  const mirroring = [...SOURCES].filter(([file]) =>
    /^test\/(contracts|ledger|projections|proxy)\/.*\.test\.ts$/.test(file),
  );
  expect(mirroring.length).toBeGreaterThan(200);
  const starting = mirroring.filter(([, text]) => /fixtures\/gateway\/start-[\w-]+\.ts'/.test(text));
  const sourceOf = (file: string): string => file.replace('test/', '').replace('.test.ts', '.ts');
  expect(starting.map(([file]) => file).filter((file) => !SOURCES.has(sourceOf(file)))).toEqual([]);
});

const importing = (names: string, path: string): string => `import ${names} from '${path}';`;

test('every type of event is written by something that runs', () => {
  const writers = [...SOURCES]
    .filter(([file]) => !isTest(file) && !file.startsWith('contracts/'))
    .map(([, text]) => text);
  const isWritten = (type: string): boolean => writers.some((text) => text.includes(`type: '${type}'`));
  expect(Object.keys(EVENT_SCHEMAS).filter((type) => !isWritten(type))).toEqual([]);
});

test.each([
  [
    'nobody imports it',
    { 'ledger/a.ts': 'export const one = 1; one;' },
    ['ledger/a.ts: one (no other file imports it)'],
  ],
  ['it is a type of its own file', { 'ledger/a.ts': 'export interface One {}\nconst a: One = {};' }, []],
  [
    'it is a type of nobody',
    { 'ledger/a.ts': 'export type One = 1;' },
    ['ledger/a.ts: One (no other file imports it)'],
  ],
  [
    'tests alone use it',
    { 'ledger/a.ts': 'export function one() {}', 'test/a.ts': importing('{ one }', '../ledger/a.ts') },
    ['ledger/a.ts: one (tests alone use it)'],
  ],
  [
    'its own file uses it and a test looks at it',
    {
      'ledger/a.ts': 'export const one = 1;\nconst two = one;',
      'test/a.ts': importing('{\n  type Other,\n  one as first,\n}', '../ledger/a.ts'),
    },
    [],
  ],
])('an exported name: %s', (_, sources, found) => {
  expect(idleExports(new Map(Object.entries(sources)))).toEqual(found);
});
