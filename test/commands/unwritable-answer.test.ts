import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.ts', import.meta.url));

/** A short answer, as any other: how the program ends that cannot give it. */
async function ended(stdout: number | 'pipe') {
  const child = spawn(process.execPath, [PROGRAM, '--help'], { stdio: ['ignore', stdout, 'pipe'] });
  child.stdout?.destroy();
  const { stderr } = child;
  if (stderr === null) throw new Error('the program has no pipe for what it says');
  const [said, [code]] = await Promise.all([text(stderr), once(child, 'close')]);
  return { said, code };
}

const SAYING = /^gateway: the answer could not be written \(.*ENOSPC.*\); what was asked for may have been done\n$/;

it('an answer that a full disk does not take ends in one line and a code that is not 0', async () => {
  const full = openSync('/dev/full', 'w');
  expect(await ended(full)).toEqual({ said: expect.stringMatching(SAYING), code: 1 });
  closeSync(full);
});

it('an answer whose reader has gone is no failure, and no word', async () => {
  expect(await ended('pipe')).toEqual({ said: '', code: 0 });
});
