import { describe, expect, test } from 'vitest';
import { accountStream } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import {
  account,
  foreignGrant,
  nextFaults,
  promptScene,
  submit,
  usages,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurns, turns, until } from '../../fixtures/ledger/turns.ts';

inTurns();

const A = account(0);
const B = account(1);

describe('closing', () => {
  test('lets an append under way end, and starts no other', async () => {
    const scene = await promptScene(1);
    const gate = Promise.withResolvers<void>();
    nextFaults(scene, { type: 'stall', until: gate.promise });
    submit(scene, A, usageOf(1, 1));
    await turns();
    submit(scene, A, usageOf(2, 1));
    scene.settlement.close();
    gate.resolve();
    await turns();
    expect([scene.log.appends, scene.settled, scene.settlement.pending]).toEqual([1, [requestOf(1)], 1]);
    submit(scene, B, usageOf(3, 1));
    await turns();
    expect(scene.log.appends).toBe(1);
  });

  test('ends the waiting for a log that is away', async () => {
    const scene = await promptScene(1);
    scene.log.faults = () => ({ type: 'refuse' });
    submit(scene, A, usageOf(1, 1));
    await until(() => scene.log.appends > 0);
    scene.settlement.close();
    await turns();
    const { appends } = scene.log;
    await turns();
    expect([scene.log.appends, scene.away, scene.settlement.pending]).toEqual([appends, [], 1]);
  });

  test('starts none of the appends that wait for the next turn', async () => {
    const scene = await promptScene(1);
    submit(scene, A, usageOf(1, 1));
    scene.settlement.close();
    await turns();
    expect(scene.log.appends).toBe(0);
  });

  test('starts none of the appends that wait for a place', async () => {
    const count = LIMITS.settlementAppendsMax + 1;
    const scene = await promptScene(count);
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () => ({ type: 'stall', until: gate.promise });
    for (const [number, usage] of usages(1, count).entries()) submit(scene, account(number), usage);
    await turns();
    scene.settlement.close();
    gate.resolve();
    await turns();
    expect(scene.log.appends).toBe(LIMITS.settlementAppendsMax);
  });

  test('does not try a conflicting append again', async () => {
    const scene = await promptScene(1);
    const gate = Promise.withResolvers<void>();
    nextFaults(scene, { type: 'stall', until: gate.promise });
    submit(scene, A, usageOf(1, 1));
    await turns();
    scene.log.write(accountStream(A), foreignGrant(1));
    scene.settlement.close();
    gate.resolve();
    await turns();
    expect(scene.log.appends).toBe(1);
  });
});
