import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NowAndThen } from '../../ledger/now-and-then.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends when it is let. */
function scene() {
  const begun: ((done: string) => void)[] = [];
  const work = new NowAndThen(1_000, () => new Promise<string>((resolve) => begun.push(resolve)));
  return { begun, work };
}

it('is done by the clock and when it is asked for, never twice at once', async () => {
  const { begun, work } = scene();
  vi.advanceTimersByTime(999);
  expect(begun.length).toBe(0);
  vi.advanceTimersByTime(1);
  expect(begun.length).toBe(1);
  const [one, other] = [work.now(), work.now()];
  vi.advanceTimersByTime(5_000);
  expect(begun.length).toBe(1);
  begun[0]?.('first');
  expect(await Promise.all([one, other])).toEqual(['first', 'first']);
  const next = work.now();
  begun[1]?.('second');
  expect(await next).toBe('second');
  work.stop();
  vi.advanceTimersByTime(5_000);
  expect(begun.length).toBe(2);
});

it('is done again after it has failed, which is told to whoever has asked', async () => {
  let times = 0;
  const work = new NowAndThen(1_000, async () => {
    if (++times === 1) throw new Error('once');
    return times;
  });
  await expect(work.now()).rejects.toThrow('once');
  expect(await work.now()).toBe(2);
  work.stop();
});

it('has ended with its close, what was under way too', async () => {
  const { begun, work } = scene();
  const done = work.now();
  const order: string[] = [];
  const closed = work.close().then(() => order.push('closed'));
  vi.advanceTimersByTime(5_000);
  expect(begun.length).toBe(1);
  void done.then(() => order.push('done'));
  begun[0]?.('first');
  await closed;
  expect(order).toEqual(['done', 'closed']);
});
