import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A program whose log does not answer, ended in between: by which signal it has ended, and what is left. */
async function interrupted(signal: NodeJS.Signals, folder: string, ...words: string[]) {
  const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `import { programInProcess } from ${url('../fixtures/processes/program-in-process.ts')};
    import { MemoryEventLog } from ${url('../fixtures/ledger/memory-event-log.ts')};
    const log = new MemoryEventLog();
    log.readAll = async function* () {
      process.stdout.write('reading');
      await new Promise((resolve) => setTimeout(resolve, 2 ** 30));
    };
    const program = await programInProcess(log);
    await program.run('ledger', ...${JSON.stringify(words)});`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  const during = readdirSync(folder);
  child.kill(signal);
  return { by: (await closed)[1], during, left: readdirSync(folder) };
}

describe.each([
  ['export to a file', 'books.csv.partial', (out: string) => ['export', '--format', 'csv', '--out', out]],
  ['export to a folder', 'books.csv', (out: string) => ['export', '--format', 'ndjson', '--out', out]],
  ['verify --keep-leaves', 'books.csv', (out: string) => ['verify', '--seals', '--keep-leaves', out]],
])('%s', (_what, partial, wordsOf) => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('leaves nothing behind where %s ends it', async (signal) => {
    const folder = temporaryFolder();
    expect(await interrupted(signal, folder, ...wordsOf(join(folder, 'books.csv')))).toEqual({
      by: signal,
      during: [partial],
      left: [],
    });
  });
});

it('a report to a file leaves nothing behind, as whatever writes one', async () => {
  const folder = temporaryFolder();
  const words = ['report', '--month', '2026-11', '--out', join(folder, 'books.html')];
  const expected = { by: 'SIGTERM', during: ['books.html.partial'], left: [] };
  expect(await interrupted('SIGTERM', folder, ...words)).toEqual(expected);
});
