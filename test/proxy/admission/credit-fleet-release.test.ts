import { afterEach, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import { accountId, accountStream, commandId, type LeaseId, leaseId, proxyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { ACCOUNT, granted, KEY, opened } from '../../fixtures/ledger/example-account.ts';
import {
  CREDIT,
  clearScene,
  held,
  leasedBy,
  linesOf,
  scene,
  start,
  startProxy,
  startWithoutUpkeep,
  time,
} from './credit-fleet-scene.ts';

afterEach(clearScene);

type Proxy = Awaited<ReturnType<typeof startWithoutUpkeep>>;

const released = () => scene.log.events.filter(({ type }) => type === 'LeaseReleased');
const leaseOf = (proxy: Proxy): LeaseId => proxy.fleet.leases.scopeOf(proxy.account(), KEY, scene.nowMs).leaseId;

/** What another request may hold, and what is on its way back, as one proxy has it. */
function inHand({ fleet: { leases }, account }: Proxy): bigint[] {
  const scope = leases.scopeOf(account(), KEY, scene.nowMs);
  return [leases.room(ACCOUNT, account(), scope), leases.givingBack(ACCOUNT, scope.leaseId)];
}

/** A proxy with a lease of 60 that nothing holds, of which nothing goes back by itself. */
async function withRoomOf60(): Promise<Proxy> {
  const one = await startWithoutUpkeep();
  expect(await one.hold('a', 60n)).toBe('held');
  one.release('a');
  return one;
}

/** It fails however often it is tried; returns what was tried. */
async function releasedInVain(proxy: Proxy, amount: bigint): Promise<readonly ProposedEvent[]> {
  let tried: readonly ProposedEvent[] = [];
  scene.log.faults = (_, events) => {
    tried = events;
    return { type: 'drop' };
  };
  await expect(proxy.fleet.leases.release(ACCOUNT, leaseOf(proxy), microUsd(amount))).rejects.toThrow('broke');
  scene.log.faults = () => ({ type: 'none' });
  return tried;
}

const MANY = Array.from({ length: 40 }, (_, number) => accountId(`acct_many_${number}`));

/** In each of many accounts a lease of `proxy_1` that nothing holds. */
function writeLeases(): void {
  for (const [number, account] of MANY.entries()) {
    const command = commandId(`019a5b3c-8888-7000-8000-${number.toString(16).padStart(12, '0')}`);
    const recording = { commandId: command, actor: 'test', recordedAt: '2026-11-06T12:00:00.000Z' };
    const leased = {
      ...{ proxy: proxyId('proxy_1'), leaseId: leaseId('lease_proxy_1_1'), epoch: 1, amount: microUsd(CREDIT) },
      ...{ expiresAt: '2026-11-06T13:00:00.000Z', requestsFrom: '2026-11-06T12:00:00.000Z', requestsBefore: null },
    };
    const events = [opened, granted('g1', Number(CREDIT)), { type: 'CreditsLeased', data: leased } as const];
    scene.log.write(accountStream(account), encodeEvents(events, recording));
  }
}

describe('what a proxy gives back', () => {
  it.each(['refuse', 'drop', 'lose'] as const)(
    'is back for all once a log is there again that said %s, though no other event of the account comes',
    async (type) => {
      const [one, two] = await start('proxy_1', 'proxy_2');
      expect(await one.hold('a', CREDIT)).toBe('held');
      let isAway = true;
      scene.log.faults = () => ({ type: isAway ? type : 'none' });
      one.release('a');
      if (type !== 'lose') await expect.poll(() => linesOf('debug').length).toBeGreaterThan(0);
      isAway = false;
      await expect.poll(() => leasedBy(one)).toEqual([]);
      expect(released()).toHaveLength(1);
      await held(two, 'b', CREDIT);
    },
  );

  it('is written once where it failed and was written after all: it is tried again as it was', async () => {
    const one = await withRoomOf60();
    const tried = await releasedInVain(one, 50n);
    expect([one.fleet.leases.isInDoubt(ACCOUNT), inHand(one)]).toEqual([true, [10n, 50n]]);
    scene.log.faults = (stream) => {
      if (released().length === 0) scene.log.write(stream, tried);
      return { type: 'none' };
    };
    await one.fleet.leases.repeatReleases(ACCOUNT);
    expect([released().length, leasedBy(one), inHand(one)]).toEqual([1, [10n], [10n, 0n]]);
  });

  it('is in doubt no more once the event behind its try is known: of two in doubt at one revision at most one was written', async () => {
    const one = await withRoomOf60();
    await releasedInVain(one, 50n);
    await releasedInVain(one, 5n);
    expect(inHand(one)).toEqual([5n, 55n]);
    await one.fleet.leases.repeatReleases(ACCOUNT);
    expect([one.fleet.leases.isInDoubt(ACCOUNT), leasedBy(one), inHand(one)]).toEqual([false, [10n], [10n, 0n]]);
  });

  it('is in doubt no more where that event was there before the last try had failed', async () => {
    const one = await withRoomOf60();
    let isFirst = true;
    scene.log.faults = () => {
      const type = isFirst ? 'lose' : 'refuse';
      isFirst = false;
      return { type };
    };
    await expect(one.fleet.leases.release(ACCOUNT, leaseOf(one), microUsd(50n))).rejects.toThrow('away');
    expect([one.fleet.leases.isInDoubt(ACCOUNT), inHand(one)]).toEqual([false, [10n, 0n]]);
  });

  it('stays in doubt while its repetitions fail, and goes back once they do not', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', CREDIT)).toBe('held');
    const ids = new Set<string>();
    scene.log.faults = (_, events) => {
      for (const { id } of events) ids.add(id);
      return { type: 'drop' };
    };
    one.release('a');
    await expect.poll(() => linesOf('debug').length).toBeGreaterThan(2);
    expect([ids.size, inHand(one)]).toEqual([1, [0n, CREDIT]]);
    scene.log.faults = () => ({ type: 'none' });
    await one.fleet.upkeep.close();
    expect([leasedBy(one), released().map(({ id }) => String(id))]).toEqual([[], [...ids]]);
  });

  it('goes back on the way out where it is in doubt, as it was, with what else nothing holds', async () => {
    const one = await withRoomOf60();
    const tried = await releasedInVain(one, 50n);
    // No look comes between: what is in doubt is left to the way out.
    one.fleet.upkeep.start();
    await one.fleet.upkeep.close();
    expect([leasedBy(one), released().length, released()[0]?.id]).toEqual([[], 2, tried[0]?.id]);
  });

  it('does not wait for the next regular look where more accounts have some than are given back at once', async () => {
    writeLeases();
    const startedMs = time.passedMs();
    let lastMs = 0;
    scene.log.faults = () => {
      lastMs = time.passedMs();
      return { type: 'none' };
    };
    startProxy('proxy_1');
    await expect.poll(() => released().length).toBe(MANY.length);
    expect(lastMs - startedMs).toBeLessThan(400);
  });

  it('goes back on the way out of many accounts, not of all at once', async () => {
    writeLeases();
    const { fleet, views } = startProxy('proxy_1', { keepsUp: false });
    await expect.poll(() => MANY.every((account) => views.read(account).revision === 2)).toBe(true);
    fleet.upkeep.start();
    await fleet.upkeep.close();
    expect([released().length, scene.log.underWayMax]).toEqual([MANY.length, 16]);
  });
});
