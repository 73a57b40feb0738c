import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Most test files share a few processes, one after the other: to start one for each, and to load the gateway again in it,
 * took a quarter of the suite's processor time. A file runs apart, in a process of its own, where it, or a module of `test/`
 * that it imports, does to its process what another file would notice, or measures it.
 */
export const NOTICED: readonly RegExp[] = [
  // Modules and clocks that are replaced.
  /\bvi\.(mock|doMock|useFakeTimers|setSystemTime|spyOn|stub\w+)\(/,
  /\bprocess\.(on|once|prependListener|removeListener|removeAllListeners|chdir|umask|exit|abort|emit)\(/,
  /\bdelete process\.env\b|\bprocess\.env(\.\w+|\[[^\]]+\]) = |\bprocess\.exitCode = /,
  /\bglobalThis(\.\w+)+ = |\.prototype\.\w+ = |\bsetGlobal\w+\(|\bsetDefault\w+\(|\bObject\.definePropert/,
  /\bprocess\.(memoryUsage|resourceUsage|cpuUsage|getActiveResourcesInfo)\b|\bglobal\.gc\b|\bmonitorEventLoopDelay\(/,
  /'\/proc\/self\//,
];
const IMPORTED = /(?:from|import\()\s*'(\.[^']+\.ts)'/g;
const ROOT = join(import.meta.dirname, '..');

/** Paths from the root. */
export const TEST_FILES: readonly string[] = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(
  (file) => !file.startsWith('test/bench/portkey/'),
);

/** Whether a test file, named by its path from the root, has a process of its own. */
export function runsApart(file: string): boolean {
  return withFixtures(file).some((one) => NOTICED.some((pattern) => pattern.test(read(one))));
}

/** A file of `test/` and all of `test/` that it imports, and they. */
export function withFixtures(file: string, seen: Set<string> = new Set()): string[] {
  if (seen.has(file) || !file.startsWith('test/')) return [];
  seen.add(file);
  const imported = [...read(file).matchAll(IMPORTED)].map(([, path = '']) => join(dirname(file), path));
  return [file, ...imported.flatMap((path) => withFixtures(path, seen))];
}

const texts = new Map<string, string>();

function read(file: string): string {
  const known = texts.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  texts.set(file, known);
  return known;
}
