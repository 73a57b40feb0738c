import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_SCHEMAS } from '../contracts/events.ts';
import { importedNames, READMES, ROOT, SOURCES } from './source-files.ts';

const FOLDERS = ['contracts', 'ledger', 'projections', 'proxy', 'test'];
/** Which of the folders each may import, by the README's table. */
const TABLE = new Map(
  [...(READMES.get('README.md') ?? '').matchAll(/^\| `(\w+)\/` \|.*\| ([^|]+) \|$/gm)].map(
    ([, folder = '', may = '']) => [
      folder,
      may === 'everything'
        ? FOLDERS
        : may === 'all of the above'
          ? above(folder)
          : FOLDERS.filter((one) => may.includes(one)),
    ],
  ),
);

function above(folder: string): string[] {
  return FOLDERS.slice(0, FOLDERS.indexOf(folder));
}

const others = (folder: string): string[] => FOLDERS.filter((one) => one !== folder);

const linterSchema = z.object({
  overrides: z.array(
    z.object({
      includes: z.tuple([z.string()]),
      linter: z.object({
        rules: z.object({
          style: z.object({
            noRestrictedImports: z.object({
              level: z.literal('error'),
              options: z.object({ patterns: z.tuple([z.object({ group: z.array(z.string()) })]) }),
            }),
          }),
        }),
      }),
    }),
  ),
});

test('the import table of the README is what the linter refuses', () => {
  const { overrides } = linterSchema.parse(JSON.parse(readFileSync(join(ROOT, '.biome.json'), 'utf8')));
  const refused = overrides.map(({ includes: [includes], linter }) => {
    const [{ group }] = linter.rules.style.noRestrictedImports.options.patterns;
    return [includes, group];
  });
  expect([...TABLE.keys()]).toEqual(FOLDERS);
  const told = [...TABLE]
    .map(([folder, may]) => [folder, others(folder).filter((one) => !may.includes(one))] as const)
    .filter(([, not]) => not.length > 0)
    .map(([folder, not]) => [`${folder}/**`, not.map((one) => `**/${one}/**`)]);
  expect(refused).toEqual(told);
});

test('no folder imports what the table does not let it import', () => {
  const found = [...SOURCES].flatMap(([file, text]) => {
    const [folder = ''] = file.split('/');
    return importedNames(file, text)
      .map(({ from }) => from.split('/')[0] ?? '')
      .filter((one) => one !== folder && TABLE.get(folder)?.includes(one) !== true)
      .map((one) => `${file} imports from ${one}/`);
  });
  expect(found).toEqual([]);
});

/** A file of ours, or a folder: beside the README, from the top, or beside the one named before it in the same line. */
const PATHS = /`((?:[\w.-]+\/)*(?:[\w-]+(?:\.[\w-]+)*\.(?:ts|md)|[\w-]+\/))`/g;

function missingPaths(readme: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    let beside = '';
    return [...line.matchAll(PATHS)].flatMap(([, path = '']) => {
      const from = [dirname(readme), '.', beside, ...(readme === 'README.md' ? FOLDERS : [])];
      const found = from.map((folder) => join(folder, path)).find((one) => existsSync(join(ROOT, one)));
      beside = path.endsWith('/') ? (found ?? '') : dirname(found ?? '');
      return found === undefined ? [`${readme}:${index + 1}: ${path}`] : [];
    });
  });
}

test('each file and folder that a README names is there', () => {
  expect(READMES.size).toBeGreaterThan(15);
  expect([...READMES].flatMap(([readme, text]) => missingPaths(readme, text))).toEqual([]);
});

test.each([
  ['there is none of the name', 'one or `proxy/nowhere.ts`', 'proxy/nowhere.ts'],
  ['it is in another folder', '`forwarding/limits.ts`, `server.ts`; `no-folder/`', 'no-folder/'],
])('is missing: %s', (_, line, missing) => {
  expect(missingPaths('proxy/README.md', line)).toEqual([`proxy/README.md:1: ${missing}`]);
});

/** `npm run …`, `npm test`, `npm start`; or a program that Node runs as it is, by its path from the top. */
const RUNS = /\bnpm (?:run (?:-s )?([a-z][\w:]*)|(test|start)\b)|\bnode ((?:\w+\/)+[\w-]+\.ts)/g;

test('each script and each program that a README tells to run is there', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const told = [...READMES].flatMap(([readme, text]) =>
    [...text.replace(/\s+/g, ' ').matchAll(RUNS)].map(([words, script, own, path = '']) => ({
      told: `${readme}: ${words}`,
      isThere: path === '' ? (script ?? own ?? '') in scripts : SOURCES.has(path),
    })),
  );
  expect(told.length).toBeGreaterThan(30);
  expect(told.filter(({ isThere }) => !isThere)).toEqual([]);
});

test('the table of events has every type of event, once', () => {
  const rows = [
    ...(READMES.get('contracts/README.md') ?? '').matchAll(
      /^\| ((?:`[A-Z]\w+`(?:, )?)+) \| `(?:correction-|limit-|member-|payment-|plan-|reload-|statement-|usage-|reconciliation-|seal-)?events.ts`/gm,
    ),
  ];
  const told = rows.flatMap(([, names = '']) => names.replaceAll('`', '').split(', '));
  expect(told.toSorted()).toEqual(Object.keys(EVENT_SCHEMAS).toSorted());
});
