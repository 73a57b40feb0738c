import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../fixtures/processes/processes.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));

/** A short answer, as any other: how the program ends that cannot give it. */
async function ended(stdout: number | 'pipe' | 'ignore', ...args: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...(args.length > 0 ? args : ['--help'])], {
    stdio: ['ignore', stdout, 'pipe'],
  });
  child.stdout?.destroy();
  const { stderr } = child;
  if (stderr === null) throw new Error('the program has no pipe for what it says');
  const [said, [code]] = await Promise.all([text(stderr), once(child, 'close')]);
  return { said, code };
}

const SAYING = /^gateway: the answer could not be written \(.*ENOSPC.*\); what was asked for may have been done\n$/;

it('an answer that a full disk does not take ends in one line and the code of what cannot be used as it is', async () => {
  const full = openSync('/dev/full', 'w');
  expect(await ended(full)).toEqual({ said: expect.stringMatching(SAYING), code: 4 });
  closeSync(full);
});

it('an answer whose reader has gone is no failure, and no word', async () => {
  expect(await ended('pipe')).toEqual({ said: '', code: 0 });
});

it('the secret of a key that nobody could read is said to be lost, with how another takes its place', async () => {
  const data = join(temporaryFolder(), 'data');
  const on = ['--data', data];
  expect(await ended('ignore', 'account', 'open', '--email', 'a@example.com', '--id', 'acct_a', ...on)).toMatchObject({
    code: 0,
  });
  const as = ['--as', 'a@example.com'];
  const ofIt = `--as a@example.com --data ${data}`;
  const issue = await ended('pipe', 'key', 'issue', 'acct_a', ...on, ...as);
  const [, id = ''] = /the secret of (key_\w+) was made/.exec(issue.said) ?? [];
  const words = (why: string, lost: string) => ({
    said: expect.stringMatching(
      new RegExp(
        `^gateway: the answer could not be written \\(.*${why}.*\\); the secret of ${id} was made, and nobody has seen it${lost}\n$`,
      ),
    ),
    code: 4,
  });
  const [rotate, revoke] = [`gateway key rotate acct_a ${id}`, `gateway key revoke acct_a ${id}`];
  expect(issue).toEqual(words('EPIPE', `; another: ${rotate} ${ofIt}, or end the key: ${revoke} ${ofIt}`));
  const goesOn = (of: string) =>
    `; the one before \\(ending .{4}\\) works until \\S+Z, so that nothing is cut off yet; another key: gateway key issue acct_a ${of}, ` +
    `or, where the one before may end at once, another secret: ${rotate} --again ${of}`;
  const rotated = await ended('pipe', 'key', 'rotate', 'acct_a', id, '--key-only', ...on, ...as);
  expect(rotated).toEqual(words('EPIPE', goesOn(ofIt)));
  const full = openSync('/dev/full', 'w');
  const again = await ended(full, 'key', 'rotate', 'acct_a', id, '--again', ...on);
  expect(again).toEqual(words('ENOSPC', goesOn(`--data ${data}`)));
  expect(await ended(full, 'key', 'rotate', 'acct_a', id, '--overlap', '0', ...on)).toEqual(
    words('ENOSPC', `, and those before have ended; another: ${rotate} --overlap 0 --data ${data}`),
  );
  closeSync(full);
  expect(await ended('pipe', 'key', 'list', 'acct_a', ...on)).toEqual({ said: '', code: 0 });
});

it('a verdict that nobody reads is in the exit code all the same', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  cpSync(join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data', 'ledger.db'), path);
  const verify = () => ended('pipe', 'ledger', 'verify', '--offline', path);
  expect(await verify()).toEqual({ said: '', code: 0 });
  const database = new DatabaseSync(path);
  database.exec(`DROP TRIGGER event_is_never_updated;
    UPDATE event SET data = json_set(data, '$.balanceAfter', '7') WHERE type = 'CreditsDebited'`);
  database.close();
  expect(await verify()).toMatchObject({ code: 5 });
  expect(await ended('pipe', 'ledger', 'replay', 'acct_ada', '--offline', path)).toMatchObject({ code: 5 });
});

it.each([
  ['of its first words', false],
  ['of its log, too', true],
])('a gateway whose readers have gone %s serves on until it is stopped', async (_who, isLogGone) => {
  const port = await freePort();
  const data = join(temporaryFolder(), 'data');
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--port', String(port), '--data', data], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.destroy();
  let said = '';
  child.stderr.on('data', (bytes) => {
    said += bytes;
  });
  if (isLogGone) child.stderr.destroy();
  const closed = once(child, 'close');
  const ready = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status ?? 0;
  // Until it is ready, or has ended.
  await expect.poll(async () => child.exitCode !== null || (await ready()) === 200).toBe(true);
  // Its first words come after that.
  if (!isLogGone)
    await expect.poll(() => said).toContain('its first words could not be written (write EPIPE); it goes on');
  for (let round = 0; round < 5; round++) expect(await ready()).toBe(200);
  child.kill('SIGTERM');
  expect((await closed)[0]).toBe(0);
});
