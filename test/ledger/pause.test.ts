import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { pause } from '../../ledger/pause.ts';

const NEVER_MS = 2 ** 31 - 1;

test('a pause ends early when it is aborted, at once where it is by then, and never rejects', async () => {
  const ending = new AbortController();
  const pausing = pause(NEVER_MS, ending.signal);
  ending.abort();
  expect(await pausing).toBeUndefined();
  expect(await pause(NEVER_MS, ending.signal)).toBeUndefined();
});

test('one that has ended listens no more', async () => {
  const { signal } = new AbortController();
  await pause(1, signal);
  await pause(1);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
