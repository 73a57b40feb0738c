import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
/** `import … from '…'` and `export … from '…'` of values: what is loaded with the module, unlike `await import('…')`. */
const LOADED = /^(?:import|export) (?!type )(?:[^'";]* from )?'([^']+)';/gm;

test('a command loads neither the server nor a driver of what it does not use', () => {
  const ofAnyLine = packagesOf('proxy/program/run-process.ts');
  expect(ofAnyLine).toEqual(['cli-table3', 'commander', 'zod']);
  const program = readFileSync(join(ROOT, 'proxy/program/gateway-program.ts'), 'utf8');
  const groups = [...program.matchAll(/await import\('([^']+)'\)/g)].map(([, name = '']) =>
    join('proxy/program', name),
  );
  expect(groups.length).toBeGreaterThan(10);
  expect([...new Set([...ofAnyLine, ...groups.flatMap(packagesOf)])].sort()).toEqual([
    'cli-progress',
    'cli-table3',
    'commander',
    'zod',
  ]);
});

test('a command line loads what decides, and what opens a log, where it does either', () => {
  const modules = loadedBy('proxy/program/run-process.ts').modules;
  const needed =
    /^(?:ledger\/account\/(?:decide|evolve|execute)|contracts\/(?:events|catalog)\.ts|ledger\/event-log\/.*-event-log\.ts)/;
  expect(modules.filter((file) => needed.test(file))).toEqual([]);
  const keys = loadedBy('proxy/program/accounts/key-commands.ts').modules;
  expect(keys).toEqual(expect.arrayContaining(['ledger/account/decide.ts', 'contracts/events.ts']));
});

test('a gateway loads no driver of what its configuration does not name', () => {
  const packages = packagesOf('proxy/program/serve/run-serve-command.ts');
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'undici']));
  expect(packages.filter((name) => /kafka|eventstore|grpc|opentelemetry|stripe/.test(name))).toEqual([]);
});

test('one module makes spans, and whoever serves loads it where they are configured alone', () => {
  const sources = globSync('{contracts,ledger,projections,proxy}/**/*.ts', { cwd: ROOT });
  const having = (pattern: RegExp): string[] =>
    sources.filter((file) => pattern.test(readFileSync(join(ROOT, file), 'utf8')));
  expect(having(/'@opentelemetry\/|implements (?:RequestSpans|Tracing)\b/)).toEqual([
    'proxy/observation/otlp-tracing.ts',
  ]);
  expect(having(/otlp-tracing/)).toEqual(['proxy/program/serve/run-serve-command.ts']);
  expect(having(/if \(tracing === undefined\) return null;\n.*await import\('[^']*otlp-tracing\.ts'\)/)).toHaveLength(
    1,
  );
});

const packagesOf = (file: string): string[] => loadedBy(file).packages;

/** What a module loads, itself or by the modules that it loads: packages, and modules by their paths from the root. */
function loadedBy(file: string): { readonly packages: string[]; readonly modules: string[] } {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(LOADED)) {
      if (name.startsWith('.')) visit(join(path, '..', name));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  };
  visit(join(ROOT, file));
  return { packages: [...packages].sort(), modules: [...seen].map((path) => relative(ROOT, path)) };
}
