import { afterEach, describe, expect, it } from 'vitest';
import type { MoneyRequest } from '../../../proxy/admission/money-gate.ts';
import { ACCOUNT, KEY, limitSet } from '../../fixtures/ledger/example-account.ts';
import {
  clearScene,
  converged,
  held,
  leasedBy,
  scene,
  start,
  startWithoutUpkeep,
  write,
} from './credit-fleet-scene.ts';

afterEach(clearScene);

describe('a limit that is set while several proxies have leases', () => {
  it('counts what others may still spend of a key from before its limit, until they say what their requests hold', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 5n)).toBe('held');
    expect(await two.hold('b', 20n)).toBe('held');
    await converged(two);
    // Of the lease of 12 no more than 5 is held.
    expect(leasedBy(one)[0]).toBe(12n);
    write(limitSet(40, KEY));
    await converged(one);
    expect(await two.hold('c', 16n)).toBe('none_free');
    await held(two, 'd', 15n);
    expect(await one.hold('e', 1n)).toBe('none_free');
    expect(scene.log.events.filter(({ type }) => type === 'LeaseNarrowed').length).toBeGreaterThan(0);
    one.release('a');
    await held(one, 'f', 5n);
  });

  it("admits no more than an account's new limit leaves beside what others have leased before it", async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 60n)).toBe('held');
    expect(await two.hold('b', 20n)).toBe('held');
    await converged(one);
    two.release('b');
    write(limitSet(70));
    await converged(one);
    expect(await one.hold('c', 11n)).toBe('none_free');
    expect(await two.hold('d', 11n)).toBe('none_free');
    await held(two, 'e', 10n);
  });

  it("admits no more than a key's lowered limit leaves beside what others have leased before it", async () => {
    const one = await startWithoutUpkeep();
    write(limitSet(80, KEY));
    const two = await startWithoutUpkeep('proxy_2');
    await converged(one);
    expect(await one.hold('a', 40n)).toBe('held');
    await converged(two);
    expect(await two.hold('b', 8n)).toBe('held');
    expect(await two.hold('c', 12n)).toBe('held');
    two.release('c');
    write(limitSet(50, KEY));
    await converged(two);
    const scope = two.fleet.leases.scopeOf(two.account(), KEY, scene.nowMs);
    // Of the 20 that are leased here the other's 40 leave 10, of which 8 are held already.
    expect(two.account().leases[scope.leaseId]?.amount).toBeGreaterThanOrEqual(20n);
    expect(two.fleet.leases.room(ACCOUNT, two.account(), scope)).toBe(2n);
    two.release('b');
    expect(two.fleet.leases.room(ACCOUNT, two.account(), scope)).toBe(10n);
  });

  it('is told with what the leases of others take, and what this one holds under its own', async () => {
    const one = await startWithoutUpkeep();
    const two = await startWithoutUpkeep('proxy_2');
    expect(await one.hold('a', 20n)).toBe('held');
    await converged(two);
    const [leased = 0n] = leasedBy(two);
    expect(await two.hold('b', 5n)).toBe('held');
    await converged(two);
    const request = { accountId: ACCOUNT, account: two.account(), keyId: KEY, nowMs: scene.nowMs } as MoneyRequest;
    const taken = leased + 5n;
    expect(two.fleet.takenByLeases(request)).toEqual({
      ...{ account: taken, accountMonth: taken, keyMonth: taken },
      memberMonth: 0n,
    });
  });

  it('holds a request that waits under the lease of its key, where the key gets a limit meanwhile', async () => {
    const [one, two] = await start('proxy_1', 'proxy_2');
    expect(await one.hold('a', 99n)).toBe('held');
    await converged(two);
    const waiting = two.hold('b', 5n);
    one.release('a');
    write(limitSet(50, KEY));
    expect(await waiting).toBe('held');
    expect(Object.values(two.account().leases).map(({ keyId }) => keyId)).toContain(KEY);
  });
});
