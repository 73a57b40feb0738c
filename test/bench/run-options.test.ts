import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { expect, it } from 'vitest';
import { optionsOf, wholeNumber } from '../run-options.ts';
import { readOptions, USAGE } from './options.ts';

class Ended extends Error {}

/** What a run with these arguments ends with; null where it begins. */
function endOf(args: readonly string[], read: () => unknown = () => readOptions(args)): [string, number] | null {
  let ended: [string, number] | null = null;
  const end = (text: string, exitCode: number): never => {
    ended = [text, exitCode];
    throw new Ended();
  };
  try {
    optionsOf(USAGE, read, { args, end });
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  }
  return ended;
}

it.each([
  ['npm run clients', 'sdks/fetch-clients.ts'],
  ['npm run kafka', 'kafka/fetch-kafka.ts'],
])('%s tells its usage, and in one line an option that there is not, and does nothing else', (command, file) => {
  const run = (option: string) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [fileURLToPath(new URL(`../${file}`, import.meta.url)), option],
      { encoding: 'utf8' },
    );
    return [status, stdout, stderr];
  };
  expect(run('--help')).toEqual([0, expect.stringMatching(new RegExp(`^${command}.*\\n$`)), '']);
  const line = expect.stringMatching(
    new RegExp(`^${command}: Unknown option .--bogus.; --help tells what there is\\n$`),
  );
  expect(run('--bogus')).toEqual([2, '', line]);
});

it('a commit that is not there is told before anything is started', () => {
  const bench = fileURLToPath(new URL('run.ts', import.meta.url));
  const run = spawnSync(process.execPath, [bench, '--before', 'deadbeef', '--only', 'json'], { encoding: 'utf8' });
  const line = "npm run bench --: --before: this clone's history has no deadbeef; --help tells what there is\n";
  expect([run.status, run.stdout, run.stderr]).toEqual([2, '', line]);
});

it('the usage of a long run is told when it is asked for, and ends it with 0, whatever else is said', () => {
  expect(endOf(['--help'])).toEqual([`${USAGE}\n`, 0]);
  expect(endOf(['--bogus', '--help'])).toEqual([`${USAGE}\n`, 0]);
  expect(endOf(['--quick'])).toBeNull();
});

it('an option that there is not, or that has a wrong value, is named in one line, and ends it with 2', () => {
  const line = (why: string) => [`npm run bench --: ${why}; --help tells what there is\n`, 2];
  expect(endOf(['--bogus'])).toEqual(line("Unknown option '--bogus'"));
  expect(endOf([], () => parseArgs({ args: ['--bogus'], options: {}, allowPositionals: true }))).toEqual(
    line("Unknown option '--bogus'"),
  );
  expect(endOf(['--rounds', '99'])).toEqual(line('--rounds: expected 1 to 20'));
  expect(endOf(['--only', 'none'])).toEqual(line('--only: there is no none'));
  expect(endOf([], () => wholeNumber('seed', '0.5', 7))).toEqual(line('--seed: expected a whole number from 0 to 7'));
});
