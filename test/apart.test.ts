import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NOTICED, runsApart, TEST_FILES, withFixtures } from './apart.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const linesOf = (files: readonly string[], pattern: RegExp): string[] =>
  files.flatMap((file) => (read(file).match(pattern) ?? []).map((line) => `${file}: ${line}`));

const MODULES = globSync('{contracts,ledger,projections,proxy}/**/*.ts', { cwd: ROOT });
const FIXTURES = [...new Set(TEST_FILES.flatMap((file) => withFixtures(file)))].filter(
  (file) => !file.endsWith('.test.ts'),
);

/** Variables of modules, which outlast a test file where files share a process. No call reads what an earlier one left, but the process's own end. */
const OUTLASTING: readonly string[] = [
  'ledger/feed/kafkajs-internals.ts: let isMended',
  'proxy/request-body/duplicate-keys.ts: const levels = new Int32Array(',
  'proxy/request-id.ts: let used',
  'proxy/connections/unwanted-pieces.ts: const unwanted = new WeakMap<IncomingMessage, UnwantedBody>()',
  'proxy/connections/unwanted-pieces.ts: const watched = new WeakSet<NodeParser>()',
  'proxy/program/destination-at.ts: const toEnd: LogDestination[] = []',
  'proxy/program/destination-at.ts: let endsMs',
];

test('a module keeps nothing from one test file to the next', () => {
  expect(MODULES.length).toBeGreaterThan(300);
  const variable = /^(?:export )?let \w+/gm;
  const collection =
    /^(?:export )?const (?!\w+: Readonly)\w+(?:: [^=\n]+)? = (?:new (?:Weak)?(?:Map|Set)\b.*?\(\)|\[\]|\{\}|new Int32Array\((?!new Shared))/gm;
  expect([...linesOf(MODULES, variable), ...linesOf(MODULES, collection)].toSorted()).toEqual(OUTLASTING.toSorted());
});

test('a module that test files share asks for nothing around their tests: it would be asked for by the first of them only', () => {
  expect(FIXTURES.length).toBeGreaterThan(100);
  expect(linesOf(FIXTURES, /^(before|after)(Each|All)\(|^onTest\w+\(/gm)).toEqual([]);
});

test.each([
  'test/ledger/settlement/settlement.test.ts',
  'test/projections/outage.test.ts',
  'test/commands/providers.test.ts',
  'test/commands/files.test.ts',
  'test/proxy/meter/answer-meter.test.ts',
  // Through a module that it imports.
  'test/crash/crash.test.ts',
])('%s has a process of its own', (file) => {
  expect(TEST_FILES).toContain(file);
  expect(runsApart(file)).toBe(true);
});

test.each([
  "vi.mock('node:fs', () => ({}));",
  "vi.useFakeTimers({ toFake: ['setTimeout'] });",
  "  const read = vi.spyOn(log, 'readStream');",
  "process.on('unhandledRejection', keep);",
  'umask = process.umask(0);',
  "process.env.GATEWAY_CONFIG = '';",
  'process.env[name] = value;',
  'delete process.env.GATEWAY_CONFIG;',
  'globalThis.fetch = answer;',
  'Array.prototype.at = at;',
  'setGlobalDispatcher(agent);',
  'const before = process.memoryUsage();',
  "readdirSync('/proc/self/fd')",
])('is noticed by other files: %s', (line) => {
  expect(NOTICED.some((pattern) => pattern.test(line))).toBe(true);
});

test.each(['const env = { ...process.env, A: 1 };', 'process.kill(pid);', 'const seed = process.env.SEED ?? 1;'])(
  'is noticed by none: %s',
  (line) => {
    expect(NOTICED.some((pattern) => pattern.test(line))).toBe(false);
  },
);
