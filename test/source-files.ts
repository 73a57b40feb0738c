import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..');
/** All of ours, by their paths from the top; the tests' own among them. */
export const SOURCES = read('{contracts,ledger,projections,proxy,test}/**/*.{ts,mjs}');
export const READMES = read('{,{contracts,ledger,projections,proxy,test}/**/}README.md');

function read(pattern: string): ReadonlyMap<string, string> {
  const exclude = (path: string): boolean => path.endsWith('node_modules') || path.endsWith('portkey');
  const files = globSync(pattern, { cwd: ROOT, exclude }).sort();
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
}

export const isTest = (file: string): boolean => file.startsWith('test/');

/** Every file that one names in a string: what it imports, and the threads and processes that it starts. */
export function namedFiles(file: string, text: string): string[] {
  return [...text.matchAll(/'(\.{1,2}\/[^'\n]+\.m?[jt]s)'/g)].map(([, path = '']) => join(file, '..', path));
}

/** What a file takes from others of ours by name; `*` is all that there is. */
export function importedNames(file: string, text: string): { readonly from: string; readonly name: string }[] {
  const stated = [...text.matchAll(/^(?:import|export)\s+(?:type\s+)?([^'"]*?)\s+from\s+'(\.[^'\n]+)'/gm)].flatMap(
    ([, what = '', path = '']) => {
      const names = what.startsWith('{') ? what.slice(1, -1).split(',') : ['*'];
      return names.map((name) => ({ path, name: /^(?:type )?([*\w]*)/.exec(name.trim())?.[1] ?? '' }));
    },
  );
  const asked = [...text.matchAll(/\bimport\('(\.[^'\n]+)'\)/g)].map(([, path = '']) => ({ path, name: '*' }));
  return [...stated, ...asked]
    .filter(({ name }) => name !== '')
    .map(({ path, name }) => ({ from: join(file, '..', path), name }));
}

export const exportedNames = (text: string): string[] =>
  [
    ...text.matchAll(/^export (?:declare |abstract |async )*(?:const|let|function\*?|class|interface|type)\s+(\w+)/gm),
  ].map(([, name = '']) => name);
