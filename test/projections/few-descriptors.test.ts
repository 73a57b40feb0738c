import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { viewsFile } from './example-ledger.ts';

/** What a program of this folder prints that may have so many descriptors. */
function printedWith(descriptors: number, program: string, ...args: string[]): unknown {
  const script = `ulimit -n ${descriptors} && exec "$0" "$@"`;
  const path = fileURLToPath(new URL(program, import.meta.url));
  return JSON.parse(execFileSync('bash', ['-c', script, process.execPath, path, ...args], { encoding: 'utf8' }));
}

it.runIf(process.platform === 'linux')(
  'of views of an earlier version nothing is made for now where there is no descriptor for the thread that would: they are as good as before',
  () => {
    const [from, to] = [viewsFile(), viewsFile()];
    expect(printedWith(64, 'without-descriptors.ts', from, to)).toEqual({
      notForNow: expect.stringMatching(/EMFILE$/),
    });
    expect(existsSync(to)).toBe(false);
  },
);

it.runIf(process.platform === 'linux')(
  'a store of views that is opened with however few descriptors left is not written for now, or is, and dies of nothing',
  () => {
    const became = ['not opened', 'not started', 'written'];
    expect(printedWith(96, 'few-descriptors-store.ts', viewsFile())).toEqual({ died: [], became, last: 'written' });
  },
);
