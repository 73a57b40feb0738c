import { openSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess } from '../fixtures/processes/child-process.ts';
import { RestartedProcess } from './restarted-process.ts';

/** Lives that say that they are ready, and end with one code after another. */
function ending(codes: readonly number[], supervisedCode: number | null) {
  const left = [...codes];
  const stderrFd = openSync('/dev/null', 'w');
  const told: boolean[] = [];
  const start = () => {
    const code = left.shift();
    const end = code === undefined ? 'setInterval(() => {}, 1_000)' : `setTimeout(() => process.exit(${code}), 50)`;
    return startProcess(['-e', `console.log("{}"); ${end}`], { stderrFd });
  };
  const process = new RestartedProcess('one', start, (line) => told.push(line !== null), supervisedCode);
  onTestFinished(() => void process.kill());
  process.start();
  return { process, told };
}

test('a process that ends with the code for its supervisor is started again', async () => {
  const { process, told } = ending([3, 3], 3);
  await expect.poll(() => told).toEqual([true, false, true, false, true]);
  expect([process.isUp, process.hasEnded, process.kills]).toEqual([true, false, 0]);
});

test.each([
  ['another code', [4], 3],
  ['any code where it has no supervisor', [3], null],
])('one that ends with %s stays ended', async (_, codes, supervisedCode) => {
  const { process, told } = ending(codes, supervisedCode);
  await expect.poll(() => process.hasEnded).toBe(true);
  expect(told).toEqual([true]);
});
