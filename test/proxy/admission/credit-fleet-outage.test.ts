import { afterEach, describe, expect, it } from 'vitest';
import { EventLogError } from '../../../contracts/event-log.ts';
import { limitSet } from '../../fixtures/ledger/example-account.ts';
import {
  CREDIT,
  clearScene,
  converged,
  leasedBy,
  linesOf,
  scene,
  start,
  startWithoutUpkeep,
  time,
  write,
} from './credit-fleet-scene.ts';

afterEach(clearScene);

describe('a proxy among several, with a log that fails, or whose other writers come between', () => {
  it('says within bounds that the log is away, and at once where it is given up', async () => {
    const [one] = await start('proxy_1');
    scene.log.faults = () => ({ type: 'refuse' });
    expect(await one.hold('a', 2n)).toBe('log_away');
    // Nobody's usage waits: it is told all the same.
    expect(scene.breaker.isOpen).toBe(true);
    expect(await one.hold('b', 2n)).toBe('log_away');
    scene.breaker.giveUp();
    const { appends } = scene.log;
    expect(await one.hold('c', 2n)).toBe('log_away');
    expect(scene.log.appends).toBe(appends);
  });

  it('warns of no outage that the breaker has told, and of whatever else keeps a lease from it', async () => {
    const one = await startWithoutUpkeep();
    scene.log.faults = () => ({ type: 'refuse' });
    for (const name of ['a', 'b', 'c']) expect(await one.hold(name, 2n)).toBe('log_away');
    expect([linesOf('warn'), linesOf('debug')]).toEqual([[], Array(3).fill('no credit could be leased')]);
    scene.breaker.appended();
    // Others' appends are taken meanwhile.
    scene.log.faults = () => {
      scene.breaker.appended();
      return { type: 'refuse' };
    };
    expect(await one.hold('d', 2n)).toBe('log_away');
    scene.log.faults = () => ({ type: 'reject' });
    expect(await one.hold('e', 2n)).toBe('log_away');
    expect(linesOf('warn')).toEqual(['no credit could be leased', 'no credit could be leased']);
    expect(scene.breaker.isOpen).toBe(false);
  });

  it.each([
    ['refuse', 'debug', true],
    ['reject', 'warn', false],
  ] as const)('that comes while a refill meets a log that says %s is told by %s', async (type, level, isOpen) => {
    const one = await startWithoutUpkeep();
    expect(await one.hold('a', 1n)).toBe('held');
    const [leased = 0n] = leasedBy(one);
    await new Promise(setImmediate);
    scene.log.faults = () => ({ type });
    // Less than half a share is left.
    expect(await one.hold('b', leased - (CREDIT - leased) / 16n)).toBe('held');
    await expect.poll(() => linesOf(level)).toEqual(['a lease was not refilled']);
    expect([scene.breaker.isOpen, scene.lines.length]).toEqual([isOpen, 1]);
  });

  it('is admitted where the outage is over, the first that asks as the half-open probe, and who come with it', async () => {
    const [one] = await start('proxy_1');
    scene.log.faults = () => ({ type: 'refuse' });
    expect(await one.hold('a', 2n)).toBe('log_away');
    scene.log.faults = () => ({ type: 'none' });
    const asked = Array.from({ length: 20 }, (_, number) => one.hold(`b${number}`, 2n));
    expect(new Set(await Promise.all(asked))).toEqual(new Set(['held']));
    expect(scene.breaker.isAway).toBe(false);
  });

  it('does not take it for back where nothing is free, and so nothing was asked of it', async () => {
    const one = await startWithoutUpkeep();
    const two = await startWithoutUpkeep('proxy_2');
    expect(await one.hold('a', CREDIT)).toBe('held');
    await converged(two);
    scene.log.faults = () => ({ type: 'refuse' });
    scene.breaker.failed(new Error('no answer'));
    expect(await two.hold('b', 1n)).not.toBe('held');
    expect(scene.breaker.isAway).toBe(true);
  });

  it('says so within bounds, too, where the log goes away while it gives back', async () => {
    const one = await startWithoutUpkeep();
    const two = await startWithoutUpkeep('proxy_2', 3_600_000);
    expect(await one.hold('a', 60n)).toBe('held');
    await converged(two);
    expect(await two.hold('b', 39n)).toBe('held');
    two.release('b');
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () => ({ type: 'stall', until: gate.promise });
    expect(await two.hold('c', 50n)).toBe('log_away');
    gate.resolve();
  });

  it('is not asked for again where the log says after its time that it failed', async () => {
    const one = await startWithoutUpkeep('proxy_1', 300);
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () => ({ type: 'stall', until: gate.promise });
    expect(await one.hold('a', 2n)).toBe('log_away');
    const { appends } = scene.log;
    scene.log.faults = () => ({ type: 'none' });
    gate.reject(new EventLogError('ambiguous', 'the connection broke'));
    // It waits for its turn longer than what has failed would for its next try.
    expect(await one.hold('b', 2n)).toBe('held');
    expect(scene.log.appends).toBe(appends + 1);
  });

  it("waits on where the account's other writers come between again and again: no log is away", async () => {
    const one = await startWithoutUpkeep('proxy_1', 120_000);
    let between = 0;
    scene.log.faults = () => {
      // One try of a command is over after ten conflicts.
      if (between++ < 12) write(limitSet(1_000 + between));
      return { type: 'none' };
    };
    expect(await one.hold('a', 50n)).toBe('held');
    expect(between).toBe(13);
  });

  it('is tried no more once its time is over, though they go on coming between', async () => {
    const one = await startWithoutUpkeep('proxy_1', 300);
    let between = 0;
    scene.log.faults = () => {
      write(limitSet(1_000 + ++between));
      return { type: 'none' };
    };
    expect(await one.hold('a', 50n)).toBe('log_away');
    const triesIn = async (waitedMs: number): Promise<number> => {
      const before = between;
      await time.pause(waitedMs);
      return between - before;
    };
    await expect.poll(() => triesIn(1_000)).toBe(0);
  });

  it('takes effect once where the answer to its lease was lost', async () => {
    const [one] = await start('proxy_1');
    let isFirst = true;
    scene.log.faults = () => {
      const type = isFirst ? 'lose' : 'none';
      isFirst = false;
      return { type };
    };
    expect(await one.hold('a', 50n)).toBe('held');
    expect(scene.log.events.filter(({ type }) => type === 'CreditsLeased')).toHaveLength(1);
  });
});
