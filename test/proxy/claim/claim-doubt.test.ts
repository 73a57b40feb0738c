import pino from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { proxyId } from '../../../contracts/ids.ts';
import { ClaimDoubt } from '../../../proxy/claim/claim-doubt.ts';
import type { Claim } from '../../../proxy/claim/proxy-claim.ts';
import { NEVER, TimePassed } from '../../../proxy/clock/time-passed.ts';

const UNSEEN_MS = 300;
const LONGEST_MS = 4_000;
/** A taking over at 1,000: what the older one admits until 1,300 has ended by then. */
const TAKEN_OVER_MS = 1_000;
const OVER_MS = TAKEN_OVER_MS + UNSEEN_MS + LONGEST_MS;

function scene(isOnly: boolean, takenOverAtMs: number | null = null) {
  const claimed: Claim = { proxy: proxyId('proxy_1'), epoch: 2, ownsFrom: 2, takenOverAtMs };
  const claim = { current: null as Claim | null, seenAt: NEVER };
  const state = { nowMs: TAKEN_OVER_MS, suspendedMs: 0, catchesUp: 0 };
  const caughtUp = Promise.withResolvers<void>();
  const clock = (): number => state.nowMs + state.suspendedMs;
  const passed = new TimePassed(clock, () => state.nowMs);
  const doubt = new ClaimDoubt({
    claim,
    isOnly,
    unseenMsMax: UNSEEN_MS,
    longestMs: LONGEST_MS,
    catchUp: () => {
      state.catchesUp++;
      return caughtUp.promise;
    },
    clock,
    passed,
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => {
    caughtUp.resolve();
    return doubt.close();
  });
  const see = (): void => {
    claim.seenAt = passed.now();
  };
  const take = (): void => {
    claim.current = claimed;
    see();
    doubt.start();
  };
  return { doubt, state, take, see, caughtUp };
}

describe('what costs anything is refused', () => {
  it.each([true, false])('before the name is claimed (the only proxy: %s), and no more from then on', (isOnly) => {
    const { doubt, take } = scene(isOnly);
    expect(doubt.why()).toBe('this gateway could not yet claim its name in the event log');
    take();
    expect(doubt.why()).toBeNull();
  });

  it('after a taking over, until nothing of the older process can be under way and all it has settled is folded', async () => {
    const { doubt, state, take, see, caughtUp } = scene(true, TAKEN_OVER_MS);
    take();
    state.nowMs = OVER_MS - 1;
    see();
    expect(doubt.why()).toMatch(/copied or moved.* what costs is admitted from 1970-01-01T00:00:05\.300Z on$/);
    expect(state.catchesUp).toBe(0);
    state.nowMs = OVER_MS;
    see();
    await expect.poll(() => state.catchesUp).toBe(1);
    expect(doubt.why()).toMatch(/copied or moved/);
    caughtUp.resolve();
    await expect.poll(() => doubt.why()).toBeNull();
  });

  it('by a process that cannot fold what the older one has settled, which says so', async () => {
    const { doubt, state, take, caughtUp } = scene(true, TAKEN_OVER_MS);
    take();
    state.nowMs = OVER_MS;
    await expect.poll(() => state.catchesUp).toBe(1);
    caughtUp.reject(new Error('it cannot be read'));
    expect(await doubt.failed).toEqual(new Error('it cannot be read'));
    expect(doubt.why()).toMatch(/copied or moved/);
  });

  it('not for a taking over among several: their leases differ', () => {
    const { doubt, take } = scene(false, TAKEN_OVER_MS);
    take();
    expect(doubt.why()).toBeNull();
  });

  it('by the only proxy once it could not look for too long whether it has the name, and no more when it could', () => {
    const { doubt, state, take, see } = scene(true);
    take();
    state.nowMs += UNSEEN_MS;
    expect(doubt.why()).toBeNull();
    state.nowMs += 1;
    expect(doubt.why()).toBe(
      'whether another process has claimed the name of this gateway could not be looked up for 1 s',
    );
    see();
    expect(doubt.why()).toBeNull();
  });

  it('by the only proxy after its machine was suspended, in which one of its clocks stood still', () => {
    const { doubt, state, take } = scene(true);
    take();
    state.suspendedMs = UNSEEN_MS + 1;
    expect(doubt.why()).toMatch(/could not be looked up for 1 s$/);
  });

  it('not by one of several that could not look: it has its leases', () => {
    const { doubt, state, take } = scene(false);
    take();
    state.nowMs += 100 * UNSEEN_MS;
    expect(doubt.why()).toBeNull();
  });
});

describe('what is under way here may be spent by another process', () => {
  it.each([
    ['stood still', { nowMs: 1, suspendedMs: 0 }],
    ['stood still, and its clock was set back,', { nowMs: 1, suspendedMs: -1 }],
    ['was suspended with its machine', { nowMs: 0, suspendedMs: 1 }],
  ])('once the only proxy %s for as long as one that took its name over would have waited', (_title, clocks) => {
    const { doubt, state, take, see } = scene(true);
    const pass = (ms: number): void => {
      state.nowMs += clocks.nowMs * ms;
      state.suspendedMs += clocks.suspendedMs * ms;
    };
    take();
    pass(UNSEEN_MS + LONGEST_MS);
    expect(doubt.mayBeSpentElsewhere()).toBe(false);
    pass(1);
    expect(doubt.mayBeSpentElsewhere()).toBe(true);
    see();
    expect(doubt.mayBeSpentElsewhere()).toBe(false);
  });

  it('never where there are several: their leases tell', () => {
    const { doubt, state, take } = scene(false);
    take();
    state.nowMs += 100 * LONGEST_MS;
    expect(doubt.mayBeSpentElsewhere()).toBe(false);
  });
});
