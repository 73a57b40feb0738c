import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import {
  childrenOf,
  cpuOfMachine,
  cpuOfStat,
  endedChildrenCpuUs,
  machineUse,
  othersShareOf,
  peakRssOf,
  rssOfStatus,
  usageOf,
} from './process-usage.ts';

test('adds user and system time, whatever the name of the process', () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
  const stat = `7 (odd) name 1 2) ${fields.join(' ')}`;
  expect(cpuOfStat(stat)).toBe((14 + 15) * 10_000);
  expect(cpuOfStat(stat, 'children')).toBe((16 + 17) * 10_000);
  expect(() => cpuOfStat('7 (short) S')).toThrow('no CPU times');
});

test('the machine has used what was neither idle nor interrupts', () => {
  expect(cpuOfMachine('cpu  1 20 300 4000 5 6 7 50000 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n')).toBe(
    (1 + 20 + 300 + 50_000) * 10_000,
  );
});

test('reads resident memory in bytes', () => {
  expect(rssOfStatus('Name:\tnode\nVmRSS:\t   1000 kB\n')).toBe(1_024_000);
  expect(rssOfStatus('VmHWM:\t   2000 kB\nVmRSS:\t   1000 kB\n', 'VmHWM')).toBe(2_048_000);
  const { rssBytes } = usageOf([process.pid]);
  expect(peakRssOf(process.pid)).toBeGreaterThanOrEqual(rssBytes);
  expect(() => rssOfStatus('Name:\tzombie\n')).toThrow('VmRSS');
});

test('what this process burns shows in its usage', () => {
  const before = usageOf([process.pid]);
  const cpuBefore = process.cpuUsage();
  let burned = 0;
  while (burned < 100_000) {
    const { user, system } = process.cpuUsage(cpuBefore);
    burned = user + system;
  }
  const used = usageOf([process.pid]).cpuUs - before.cpuUs;
  // Two ticks of 10 ms at either end.
  expect(used).toBeGreaterThanOrEqual(80_000);
  expect(before.rssBytes).toBeGreaterThan(10_000_000);
});

test('a child that has ended shows in what ended children have used', async () => {
  const [before, useBefore] = [endedChildrenCpuUs(), machineUse()];
  const burn = 'while (process.cpuUsage().user < 100_000);';
  await once(spawn(process.execPath, ['-e', burn]), 'exit');
  expect(endedChildrenCpuUs() - before).toBeGreaterThanOrEqual(90_000);
  const use = machineUse();
  expect(use.ownUs - useBefore.ownUs).toBeGreaterThanOrEqual(90_000);
  // Two ticks of 10 ms.
  expect(use.machineUs - useBefore.machineUs).toBeGreaterThanOrEqual(70_000);
});

test('others have used what the machine has, but for this process and its children', () => {
  const use = (seconds: number, machineUs: number, ownUs: number) => ({ seconds, machineUs, ownUs });
  expect(othersShareOf(use(10, 5_000_000, 1_000_000), use(12, 9_000_000, 4_000_000))).toBe(0.5);
  // By ticks the machine's may be less.
  expect(othersShareOf(use(10, 0, 0), use(11, 990_000, 1_000_000))).toBe(0);
});

test('no processes have used nothing', () => {
  expect(usageOf([])).toEqual({ cpuUs: 0, rssBytes: 0 });
});

test('finds the children of a process', async () => {
  const child = spawn('sleep', ['30']);
  onTestFinished(() => void child.kill());
  await once(child, 'spawn');
  expect(childrenOf(process.pid)).toContain(child.pid);
});
