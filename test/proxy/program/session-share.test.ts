import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';

const MODULE = new URL('../../../proxy/program/give-way.ts', import.meta.url).href;

/** A command line of a session of its own, and what that session says of its share in it and behind it. */
const COMMAND = `
  const { giveWay } = await import(${JSON.stringify(MODULE)});
  const { readFileSync } = await import('node:fs');
  giveWay();
  giveWay();
  process.stdout.write(readFileSync('/proc/self/autogroup', 'utf8'));
  if (process.argv.includes('killed')) setTimeout(() => process.kill(process.pid, 'SIGINT'));
`;

const shares = (script: string): string[] => {
  const command = `"$NODE" --input-type=module --eval "$COMMAND" --`;
  const { stdout } = spawnSync('setsid', ['--wait', 'sh', '-c', script.replace('COMMAND', command)], {
    env: { ...process.env, NODE: process.execPath, COMMAND },
    encoding: 'utf8',
  });
  return stdout.match(/(?<= nice )-?\d+/g) ?? [];
};

const hasSessions = existsSync('/proc/self/autogroup');

it.runIf(hasSessions)('the session of a command has less while the command runs, and what it had behind it', () => {
  expect(shares('COMMAND; cat /proc/self/autogroup')).toEqual(['10', '0']);
});

it.runIf(hasSessions)('so it has behind one that a signal ends', () => {
  expect(shares('(COMMAND killed); cat /proc/self/autogroup')).toEqual(['10', '0']);
});

it.runIf(hasSessions)('a session that has others, too, is left as it is', () => {
  expect(shares('sleep 60 & COMMAND; kill $!')).toEqual(['0']);
});
