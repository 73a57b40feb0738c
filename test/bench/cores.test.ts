import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { coresOf, pin, pinnableCores } from './cores.ts';

const allowed = (list: string) => `Cpus_allowed:\tff\nCpus_allowed_list:\t${list}\nMems_allowed:\t1\n`;

test.each([
  ['0-1', { measured: '1', load: '0' }],
  ['2,5', { measured: '5', load: '2' }],
  ['0-2,8-9', { measured: '9', load: '0,1,2,8' }],
  ['3', null],
])('of the cores %s the last is for whoever is measured', (list, cores) => {
  expect(coresOf(allowed(list))).toEqual(cores);
});

test('a process is kept on its core', async ({ skip }) => {
  const cores = pinnableCores();
  if (cores === null) return skip('one core, or no taskset');
  const child = spawn('sleep', ['30']);
  onTestFinished(() => void child.kill());
  await once(child, 'spawn');
  pin([child.pid ?? 0], cores.measured);
  expect(readFileSync(`/proc/${child.pid}/status`, 'latin1')).toContain(`Cpus_allowed_list:\t${cores.measured}\n`);
});
