import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { ViewsRenewal } from '../../proxy/views-renewal.ts';
import { heldMs, heldPause, passWaits } from '../fixtures/ledger/held-pauses.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Views of version 6 until `rebuild` says otherwise. */
function renewed(
  rebuild: (views: Map<string, number>, signal: AbortSignal) => Promise<string>,
  isUnderWay = () => false,
  broken: { reads: number } = { reads: 0 },
) {
  const views = new Map([['balance', 6]]);
  const lines: Record<string, unknown>[] = [];
  const tries: AbortSignal[] = [];
  const renewal = new ViewsRenewal({
    whenRenewable: Promise.resolve(),
    upcastFrom: () => {
      if (broken.reads-- > 0) throw new Error('too many open files');
      return views;
    },
    isUnderWay,
    rebuild: (signal) => {
      tries.push(signal);
      return rebuild(views, signal);
    },
    logger: pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) }),
    timing: { pause: heldPause },
  });
  return { renewal, views, lines, tries };
}

/** How long each wait was, while all of them pass at once. */
async function waits(): Promise<number[]> {
  const waited: number[] = [];
  for (;;) {
    await settled();
    const [ms] = heldMs();
    if (ms === undefined) return waited;
    waited.push(ms);
    passWaits();
  }
}

describe('views of an earlier version that are served from', () => {
  it('are rebuilt once, and only where there are any', async () => {
    const { renewal, lines, tries } = renewed(async (views) => {
      views.clear();
      return 'switched';
    });
    renewal.start();
    expect(await waits()).toEqual([]);
    expect(lines).toMatchObject([{ versions: { balance: 6 } }, { said: 'switched' }]);
    renewal.start();
    expect(await waits()).toEqual([]);
    expect([tries.length, renewal.failures]).toEqual([1, 0]);
  });

  it('are rebuilt again where that was in vain, later and later, so often and no more', async () => {
    const { renewal, lines, tries } = renewed(async () => 'nothing was switched');
    renewal.start();
    const waited = await waits();
    expect(waited).toEqual(Array.from({ length: 8 }, (_, at) => 5_000 * 3 ** at));
    expect([tries.length, renewal.failures]).toEqual([9, 9]);
    expect(lines.at(-1)).toMatchObject({
      level: 50,
      tries: 9,
      reason: expect.stringContaining('nothing was switched'),
    });
  });

  it('have failed no more once one of the tries has succeeded', async () => {
    let left = 2;
    const { renewal, lines } = renewed(async (views) => {
      if (left-- > 0) throw new Error('no room');
      views.clear();
      return 'switched';
    });
    renewal.start();
    await settled();
    expect([renewal.failures, lines.at(-1)]).toMatchObject([1, { reason: 'no room', nextInMs: 5_000 }]);
    expect(await waits()).toEqual([5_000, 15_000]);
    expect(renewal.failures).toBe(0);
  });

  it('have failed no more once an operator has had them rebuilt, also after the last try', async () => {
    const broken = { reads: 0 };
    const { renewal, views, lines } = renewed(
      async () => 'nothing was switched',
      () => false,
      broken,
    );
    renewal.start();
    await waits();
    const told = lines.length;
    broken.reads = 1;
    expect([renewal.failures, lines.slice(told)]).toMatchObject([9, [{ level: 40 }]]);
    views.clear();
    expect(renewal.failures).toBe(0);
  });

  it('are looked at again where they cannot be read, as after a rebuild in vain', async () => {
    const broken = { reads: 1 };
    let left = 2;
    const { renewal, tries, lines } = renewed(
      async (views) => {
        views.clear();
        return 'switched';
      },
      () => {
        if (left-- === 2) throw new Error('no descriptors');
        return false;
      },
      broken,
    );
    renewal.start();
    await settled();
    expect([renewal.failures, lines]).toMatchObject([1, [{ level: 50, reason: 'too many open files' }]]);
    expect(await waits()).toEqual([5_000, 15_000]);
    expect([tries.length, renewal.failures]).toEqual([1, 0]);
    expect(lines[1]).toMatchObject({ level: 50, reason: 'no descriptors', nextInMs: 15_000 });
  });

  it('are left to a command that rebuilds them already', async () => {
    let isUnderWay = true;
    const { renewal, views, tries, lines } = renewed(
      async () => 'switched',
      () => isUnderWay,
    );
    renewal.start();
    await settled();
    passWaits();
    await settled();
    expect([tries.length, heldMs().length]).toEqual([0, 1]);
    isUnderWay = false;
    views.clear();
    expect(await waits()).toEqual([5_000]);
    expect([tries.length, lines]).toEqual([0, []]);
  });

  it('are left as they are when the gateway ends', async () => {
    const { renewal, tries, lines } = renewed(
      (_views, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    renewal.start();
    await settled();
    await renewal.close();
    expect([tries.length, lines.length, renewal.failures, heldMs()]).toEqual([1, 1, 0, []]);
  });
});
