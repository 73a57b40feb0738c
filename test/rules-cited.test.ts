import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';

/**
 * What comments, documents and tests cite is in this repository: rules by their numbers, "(What holds, 7)" in the README
 * and "(interface, 4.2)" in proxy/routes/README.md; sections of the README by their names, files by theirs. Other documents
 * are public: an RFC, an address.
 */
const ROOT = join(import.meta.dirname, '..');
const OWN = join('test', 'rules-cited.test.ts');
const SOURCES = globSync(['{contracts,ledger,projections,proxy,test}/**/*.{ts,md,yaml}', '*.{md,yaml}'], {
  cwd: ROOT,
  exclude: (name) => basename(name) === 'node_modules',
}).filter((file) => file !== OWN);
const FILE_NAMES: ReadonlySet<string> = new Set(SOURCES.map((file) => basename(file)));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

const README = read('README.md');
const HOLDS = README.slice(README.indexOf('\n## What holds\n'), README.indexOf('\n## Work on it\n'));
const INTERFACE = read('proxy/routes/README.md');
const numbersIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, at = '']) => at);
const RULES = numbersIn(HOLDS, /^(\d+)\. \*\*/gm);
const STATEMENTS = numbersIn(INTERFACE, /^\*\*(\d+\.\d+)\*\* /gm);
const SECTIONS = numbersIn(README, /^## (.+)$/gm);
const KNOWN: ReadonlySet<string> = new Set([
  ...SECTIONS.map((name) => `README, "${name}"`),
  ...RULES.map((at) => `What holds, ${at}`),
  ...STATEMENTS.map((at) => `interface, ${at}`),
]);

const CITATION = /\b(?:What\s+holds|interface),\s+\d+(?:\.\d+)?\b|\bREADME,\s+"[^"]+"/g;
/** Other spellings of a rule, and documents that nobody finds here. Sections are those of what is cited with them. */
const ELSEWHERE: readonly RegExp[] = [
  /\b(?:what\s+holds|interface)\s+(?:rule |§ ?)?\d+/gi,
  /\b(?:what\s+holds|interface),\s+[\d.]+(?:,|\s+(?:and|or|to)|\s*[-–])\s*\d/gi,
  /\b(?:rule|issue|finding|decision)s?\s+#?\d+\b/gi,
  /(?<!\bRFC\s+\d+,\s+|\.md,\s+)\bsections?\s+\d+/gi,
  /\bthe\s+(?:design|spec)\b/gi,
  /(?<!-)\bspecifications?\b/gi,
  /\bfield[\s-]+notes?\b/gi,
];
const PATH = /(?<![\w./:-])[\w.-]+(?:\/[\w.-]+)*\.(?:ts|md)\b/g;

/** On one line, each character at its place: a comment is broken anywhere. */
const flat = (text: string): string => text.replace(/\n[ \t]*(?:\*(?!\*)|\/\/|#+ )?/g, (end) => ' '.repeat(end.length));
const commentsOf = (text: string): string =>
  text.replace(/^(?![ \t]*(?:\/\*\*|\*|\/\/)).*$/gm, (line) => ' '.repeat(line.length));

const isThere = (path: string, from: string): boolean =>
  existsSync(join(ROOT, path)) ||
  existsSync(join(ROOT, dirname(from), path)) ||
  (path.includes('/') ? SOURCES.some((file) => file.endsWith(`/${path}`)) : FILE_NAMES.has(path));

/** What a text cites that is not there, or otherwise than a test can check, each with its line. */
function strayIn(text: string, file: string): string[] {
  const line = flat(text);
  const cited = [...line.matchAll(CITATION)].filter(([words]) => !KNOWN.has(words.replace(/\s+/g, ' ')));
  const elsewhere = ELSEWHERE.flatMap((pattern) => [...line.matchAll(pattern)]);
  const paths = file.endsWith('.ts')
    ? [...flat(commentsOf(text)).matchAll(PATH)].filter(([path]) => !isThere(path, file))
    : [];
  return [...cited, ...elsewhere, ...paths].map(
    ({ 0: words, index }) => `${text.slice(0, index).split('\n').length}: ${words.replace(/\s+/g, ' ')}`,
  );
}

test('the rules of the README are numbered in their order, and each names its place and its tests, which are there', () => {
  expect(RULES.length).toBeGreaterThan(10);
  expect(RULES).toEqual(RULES.map((_at, index) => String(index + 1)));
  for (const rule of HOLDS.split(/^(?=\d+\. )/m).slice(1)) {
    const paths = numbersIn(rule, /`((?:contracts|ledger|projections|proxy|test)\/[\w./-]*)`/g);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(new Set(paths.map((path) => path.startsWith('test/'))), rule).toEqual(new Set([true, false]));
  }
});

test('the statements of the interface are numbered in their order', () => {
  const sections = numbersIn(INTERFACE, /^## (\d+)\. /gm);
  expect(sections).toEqual(sections.map((_at, index) => String(index + 1)));
  const inOrder = sections.flatMap((section) => {
    const own = STATEMENTS.filter((at) => at.startsWith(`${section}.`));
    return own.map((_at, index) => `${section}.${index + 1}`);
  });
  expect(STATEMENTS.length).toBeGreaterThan(20);
  expect(STATEMENTS).toEqual(inOrder);
});

test('every rule and every file that is cited is there, and nothing is cited that is not', () => {
  expect(SOURCES.length).toBeGreaterThan(800);
  expect(SOURCES.flatMap((file) => strayIn(read(file), file).map((stray) => `${file}:${stray}`))).toEqual([]);
});

test.each([
  '/** Fits (What holds, 99). */',
  '/** Fits (What\n * holds, 99). */',
  '// as it is told (interface, 1.99)',
  '/** Fits (What holds 7). */',
  '/** Fits (What holds, 2 and 7). */',
  '/** As it stands in the README (README, "What was"). */',
  '/** Fits (interface 4.2). */',
  '/** Rule 7. */',
  '// see section 5',
  '/** By the design. */',
  '/** As in the design (section 5). */',
  '/** The form of a key (specification, part Authentication). */',
  '/** Said in issue #12. */',
  '/** See docs/notes.md. */',
  '/** By the worst of cases (no-such-file.ts). */',
])('would be found: %s', (text) => {
  expect(strayIn(text, 'proxy/main.ts')).not.toEqual([]);
});

test.each([
  '/** Fits (What holds, 7). */',
  '/** Fits (What\n * holds, 7; interface, 4.2). */',
  '/** Where it runs (README, "A real upstream"). */',
  '/** A UUIDv7 (RFC 9562,\n * section 5.7). */',
  '/** In binary mode (https://example.com/a/binding.md, section 3.2). */',
  '/** As decider-specification.ts has it. */',
  '/** What a body may have (contracts/limits.ts), as server.ts has it. */',
])('may stand: %s', (text) => {
  expect(strayIn(text, 'proxy/main.ts')).toEqual([]);
});
