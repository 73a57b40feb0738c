import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';

const WAITS = new URL('../../fixtures/processes/stops-on-signals.ts', import.meta.url);

/** A process that stops when it is let, whose clock stands at what it is sent. */
async function waiting() {
  const child = fork(WAITS);
  onTestFinished(() => void child.kill('SIGKILL'));
  const tells = async (): Promise<unknown> => (await once(child, 'message'))[0];
  expect(await tells()).toBe('ready');
  const setClock = async (ms: number): Promise<void> => {
    const told = tells();
    child.send(ms);
    expect(await told).toBe(ms);
  };
  return { child, tells, setClock };
}

it('a signal that comes twice at once, as of a terminal and of npm, stops in order', async () => {
  const { child, tells, setClock } = await waiting();
  const stopping = tells();
  child.kill('SIGINT');
  expect(await stopping).toBe('stopping');
  await setClock(999);
  child.kill('SIGINT');
  child.kill('SIGTERM');
  // Whatever they do they have done by the time that it answers.
  await setClock(0);
  const ended = once(child, 'exit');
  child.disconnect();
  expect(await ended).toEqual([0, null]);
});

it('one that comes a second later ends it at once', async () => {
  const { child, tells, setClock } = await waiting();
  const stopping = tells();
  child.kill('SIGTERM');
  expect(await stopping).toBe('stopping');
  await setClock(1_000);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
});

it('SIGHUP stops in order, however often it comes, and hurries nothing, nor whoever asks behind it', async () => {
  const { child, tells, setClock } = await waiting();
  /** A turn of its loop that has a message has the signals behind it: with two they are taken by this clock. */
  const takenAt = async (ms: number, ...signals: readonly NodeJS.Signals[]): Promise<void> => {
    await setClock(ms);
    for (const signal of signals) child.kill(signal);
    for (let turns = 0; turns < 2; turns++) await setClock(ms);
  };
  const stopping = tells();
  child.kill('SIGHUP');
  expect(await stopping).toBe('stopping');
  await takenAt(1_000, 'SIGHUP', 'SIGTERM');
  await takenAt(1_999, 'SIGHUP', 'SIGTERM');
  await takenAt(9_000, 'SIGHUP');
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  expect(await ended).toEqual([1, null]);
});
