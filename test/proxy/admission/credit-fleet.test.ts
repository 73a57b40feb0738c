import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { grantId, revision } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { AccountUnreadableError } from '../../../ledger/account/account-unreadable-error.ts';
import { ACCOUNT, granted, KEY, opened } from '../../fixtures/ledger/example-account.ts';
import {
  CREDIT,
  clearScene,
  converged,
  held,
  lastRevision,
  leasedBy,
  linesOf,
  RECLAIM_MS,
  SLACK_MS,
  scene,
  start,
  startProxy,
  startWithoutUpkeep,
  time,
  write,
} from './credit-fleet-scene.ts';

afterEach(clearScene);

describe('a proxy among several', () => {
  it('takes a share of what is free beyond what a request needs, and the next requests need no event', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 2n)).toBe('held');
    const events = scene.log.events.length;
    for (const name of ['b', 'c', 'd']) expect(await one.hold(name, 2n)).toBe('held');
    // An eighth of 99 is leased; the refill that follows a lease nearly used up is one more event for them all.
    expect(scene.log.events.length - events).toBeLessThanOrEqual(1);
  });

  it('has a lease refilled once less than half a share of it is left, and no sooner', async () => {
    const one = await startWithoutUpkeep();
    expect(await one.hold('a', 1n)).toBe('held');
    const [leased = 0n] = leasedBy(one);
    const share = (CREDIT - leased) / 8n;
    // Nothing is refilled while the lease is still being made.
    await new Promise(setImmediate);
    const appends = scene.log.appends;
    expect(await one.hold('b', leased - 1n - share / 2n)).toBe('held');
    await new Promise(setImmediate);
    expect(scene.log.appends).toBe(appends);
    expect(await one.hold('c', 1n)).toBe('held');
    await expect.poll(() => leasedBy(one)).toEqual([leased + share]);
  });

  it('holds nothing for a request whose client leaves while it waits for its lease', async () => {
    const [one] = await start('proxy_1');
    const leaving: (() => void)[] = [];
    const client = {
      hasLeft: false,
      onceLeft: (listener: () => void) => {
        leaving.push(listener);
        return () => undefined;
      },
    };
    const waiting = one.hold('a', 2n, client);
    expect(one.fleet.queue.waiting).toBe(1);
    for (const leave of leaving) leave();
    expect(await waiting).toBe('client_left');
    expect(one.fleet.queue.waiting).toBe(0);
    expect(await one.hold('b', 2n, { ...client, hasLeft: true })).toBe('client_left');
    expect(await one.hold('c', CREDIT)).toBe('held');
    expect(one.holds.count).toBe(1);
  });

  it('gets what it needs when others hold nothing under their leases', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 90n)).toBe('held');
    one.release('a');
    expect(await two.hold('b', 95n)).toBe('held');
  });

  it('gets nothing of what others hold, and says so', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 60n)).toBe('held');
    const askedMs = time.passedMs();
    expect(await two.hold('b', 60n)).toBe('none_free');
    const waitedMs = time.passedMs() - askedMs;
    expect([waitedMs >= RECLAIM_MS, waitedMs < 2 * RECLAIM_MS]).toEqual([true, true]);
    expect(await two.hold('c', 39n)).toBe('held');
  });

  it('gets what others hold, where a grant pays that which has expired meanwhile, and nothing beyond that', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    const expiresMs = scene.nowMs + 10_000;
    write(granted('soon', 50, { priority: 1, expiresAt: new Date(expiresMs).toISOString() }));
    await Promise.all([one, two].map(converged));
    // All of the grant and a part of the other, which is there to stay.
    expect(await one.hold('a', 60n)).toBe('held');
    scene.nowMs = expiresMs;
    expect(await one.hold('b', 1n)).toBe('held');
    expect(await two.hold('c', CREDIT - 11n)).toBe('held');
    expect(await two.hold('d', 1n)).toBe('none_free');
    expect(await one.hold('e', 1n)).toBe('none_free');
    one.release('a');
    expect(await one.hold('f', 10n)).toBe('held');
  });

  it('gives back what is not enough for anybody here, so that one of several that wait for one another passes', async () => {
    const [one, two, three] = await start('proxy_1', 'proxy_2', 'proxy_3');
    for (const [index, proxy] of [one, two, three].entries()) {
      expect(await proxy.hold(`pin-${index}`, CREDIT / 3n)).toBe('held');
    }
    await Promise.all([one, two, three].map(converged));
    // All three wait, each with a third that its pin holds; then the pins end.
    const outcomes = [one, two, three].map((proxy, index) => proxy.hold(`whole-${index}`, CREDIT));
    for (const [index, proxy] of [one, two, three].entries()) proxy.release(`pin-${index}`);
    expect((await Promise.all(outcomes)).filter((outcome) => outcome === 'held')).toHaveLength(1);
  });

  it('leaves no event for what is refused again and again, and takes what is enough once it is there', async () => {
    const one = await startWithoutUpkeep();
    const two = await startWithoutUpkeep('proxy_2');
    expect(await one.hold('a', 60n)).toBe('held');
    await converged(two);
    expect(await two.hold('b', 50n)).toBe('none_free');
    await converged(two);
    const before = lastRevision();
    expect(await two.hold('c', 50n)).toBe('none_free');
    expect(lastRevision()).toBe(before);
    expect(await two.hold('d', 39n)).toBe('held');
  });

  it('admits nothing under a lease that a request might outlast, until it is renewed', async () => {
    // Upkeep would give back what nobody asks for, a moment after it was renewed.
    const one = await startWithoutUpkeep();
    expect(await one.hold('a', 10n)).toBe('held');
    const scope = one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs);
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBeGreaterThan(0n);
    scene.nowMs += SLACK_MS / 2;
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBe(0n);
    await one.fleet.leases.renew(ACCOUNT, scope);
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBeGreaterThan(0n);
  });

  it('leases and renews nothing while its clock is in doubt, and admits under what it has', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 10n)).toBe('held');
    const scope = one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs);
    const before = leasedBy(one);
    scene.mayLease = false;
    await expect(one.fleet.leases.renew(ACCOUNT, scope)).rejects.toThrow(/in doubt/);
    expect(await one.hold('b', CREDIT - 10n)).not.toBe('held');
    expect(leasedBy(one)).toEqual(before);
    scene.mayLease = true;
    expect(await one.hold('c', CREDIT - 10n)).toBe('held');
  });

  it('gets the small rests that others keep in hand, too', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 2n)).toBe('held');
    await converged(two);
    expect(leasedBy(two)).toEqual([12n]);
    expect(await two.hold('b', 95n)).toBe('held');
  });

  it('admits no more than is left where credit has gone since it was leased', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 40n)).toBe('held');
    expect(await two.hold('b', 40n)).toBe('held');
    await converged(one);
    write({
      type: 'CreditsExpired',
      data: { grantId: grantId('g1'), amount: microUsd(60n), expiredAt: '2026-12-01T00:00:00.000Z' },
    });
    await expect.poll(() => one.account().balance).toBe(CREDIT - 60n);
    one.release('a');
    expect(
      one.fleet.leases.room(ACCOUNT, one.account(), one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs)),
    ).toBe(0n);
    expect(await one.hold('c', 1n)).toBe('none_free');
  });

  it('renews a lease in use before it admits no more', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 90n)).toBe('held');
    const [lease] = Object.values(one.account().leases ?? {});
    scene.nowMs += SLACK_MS / 4 + 1;
    await expect
      .poll(() => Object.values(one.account().leases ?? {})[0]?.expiresAtMs)
      .toBeGreaterThan(lease?.expiresAtMs ?? 0);
  });

  it('renews the lease of what waits for an account that is parked, so that others neither admit nor write off past it', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 90n)).toBe('held');
    const waits = one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs).leaseId;
    await converged(two);
    one.views.setAside.park(ACCOUNT, revision(lastRevision() + 1), 'it looks wrong');
    const untilMs = () => two.account().leases[waits]?.expiresAtMs ?? 0;
    const renewals = (): number => scene.log.events.filter(({ type }) => type === 'CreditsLeased').length;
    for (let hours = 0; hours < 20; hours++) {
      const [until, before] = [untilMs(), renewals()];
      scene.nowMs += SLACK_MS / 4 + 1;
      await expect.poll(untilMs).toBeGreaterThan(until);
      // Further looks find that it is, though the view of who has parked it stands still.
      for (let turns = 0; turns < 100; turns++) await nextTurn();
      expect(renewals()).toBe(before + 1);
    }
    expect(await two.hold('b', 20n)).toBe('none_free');
    // What is settled waits for nobody.
    one.release('a');
    const before = renewals();
    scene.nowMs += SLACK_MS / 4 + 1;
    for (let turns = 0; turns < 100; turns++) await nextTurn();
    expect(renewals()).toBe(before);
    scene.nowMs = untilMs();
    await held(two, 'c', 20n);
  });

  it('renews it once the log is back, where that was away as it was to be renewed', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 90n)).toBe('held');
    one.views.setAside.park(ACCOUNT, revision(lastRevision() + 1), 'it looks wrong');
    const renewals = (): number => scene.log.events.filter(({ type }) => type === 'CreditsLeased').length;
    const before = renewals();
    scene.log.faults = () => ({ type: 'refuse' });
    scene.nowMs += SLACK_MS / 4 + 1;
    await expect.poll(() => linesOf('debug')).toContain('a lease was not kept up; the next look tries again');
    expect(renewals()).toBe(before);
    scene.log.faults = () => ({ type: 'none' });
    await expect.poll(renewals).toBe(before + 1);
  });

  it('does not read an account that is parked, and cannot be read either, again and again', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 90n)).toBe('held');
    one.views.setAside.park(ACCOUNT, revision(lastRevision() + 1), 'it looks wrong');
    // No account is opened twice.
    write(opened);
    const { readStream } = scene.log;
    let reads = 0;
    scene.log.readStream = (...asked) => {
      reads++;
      return readStream.apply(scene.log, asked);
    };
    scene.nowMs += SLACK_MS / 4 + 1;
    await expect.poll(() => reads).toBeGreaterThan(0);
    for (let turns = 0; turns < 200; turns++) await nextTurn();
    expect(reads).toBe(1);
  });

  it('renews no lease of an account whose events cannot be relied on', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 90n)).toBe('held');
    one.views.putAside(ACCOUNT, new AccountUnreadableError(ACCOUNT, revision(lastRevision() + 1), 'it is none'));
    const events = scene.log.events.length;
    scene.nowMs += SLACK_MS / 4 + 1;
    for (let turns = 0; turns < 100; turns++) await nextTurn();
    expect(scene.log.events.length).toBe(events);
  });

  it('holds nothing against what is on its way back, though its view has it still', async () => {
    const one = await startWithoutUpkeep();
    expect(await one.hold('a', 60n)).toBe('held');
    one.release('a');
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () => ({ type: 'stall', until: gate.promise });
    const scope = one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs);
    const back = one.fleet.leases.release(ACCOUNT, scope.leaseId, microUsd(50n));
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBe(10n);
    expect(one.fleet.takeRoom(ACCOUNT, one.account(), scope, microUsd(11n))).toBe(false);
    gate.resolve();
    await back;
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBe(10n);
  });

  it('holds nothing against what may be back, until the next event of the account tells', async () => {
    const one = await startWithoutUpkeep();
    expect(await one.hold('a', 60n)).toBe('held');
    const scope = one.fleet.leases.scopeOf(one.account(), KEY, scene.nowMs);
    one.release('a');
    scene.log.faults = () => ({ type: 'drop' });
    await expect(one.fleet.leases.release(ACCOUNT, scope.leaseId, microUsd(50n))).rejects.toThrow();
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBe(10n);
    scene.log.faults = () => ({ type: 'none' });
    write({ type: 'PlanChanged', data: { plan: 'team', terms: null } });
    await converged(one);
    expect(one.fleet.leases.room(ACCOUNT, one.account(), scope)).toBe(60n);
  });

  it('gives back a lease that is idle', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 2n)).toBe('held');
    one.release('a');
    expect(leasedBy(one)).not.toEqual([]);
    scene.nowMs += 11_000;
    await expect.poll(() => leasedBy(one)).toEqual([]);
  });

  it('gives back nothing that an earlier life has leased before it is told that all of that life is held', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 7n)).toBe('held');
    const [lease] = leasedBy(one);
    const again = startProxy('proxy_1', { keepsUp: false, epoch: 2 });
    await converged(again);
    // Another event of the account would be the occasion.
    write({ type: 'PlanChanged', data: { plan: 'team', terms: null } });
    await converged(again);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(leasedBy(again)).toEqual([lease]);
    again.fleet.upkeep.start();
    await expect.poll(() => leasedBy(again)).toEqual([]);
  });

  it('gives back on its way out what holds nothing, and keeps what a request still holds', async () => {
    const [one] = await start('proxy_1');
    expect(await one.hold('a', 7n)).toBe('held');
    await one.fleet.upkeep.close();
    expect(leasedBy(one)).toEqual([7n]);
  });

  it('admits under its own claim only: a lease of an earlier process of its name counts as what it is', async () => {
    const [older] = await start('proxy_1');
    expect(await older.hold('a', 60n)).toBe('held');
    // The same name again, from a copy of the folder: nothing says that the older one has ended.
    const newer = startProxy('proxy_1', { epoch: 2, ownsFrom: 2 });
    await converged(newer);
    expect(await newer.hold('b', 40n)).toBe('none_free');
    await held(newer, 'c', 39n);
    expect(await older.hold('d', 1n)).toBe('none_free');
    older.release('a');
    await held(older, 'e', 60n);
  });

  it('gives back what an earlier process has leased that is known to have ended', async () => {
    const earlier = await startWithoutUpkeep();
    expect(await earlier.hold('a', 60n)).toBe('held');
    const later = startProxy('proxy_1', { epoch: 2, ownsFrom: 1 });
    await held(later, 'b', 99n);
  });
});
