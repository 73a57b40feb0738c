import { describe, expect, test } from 'vitest';
import { EventLogError } from '../../../contracts/event-log.ts';
import { accountStream } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { debitIn, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { heldMs, passWaits } from '../../fixtures/ledger/held-pauses.ts';
import type { AppendFault } from '../../fixtures/ledger/memory-event-log.ts';
import { waitedMs } from '../../fixtures/ledger/prompt-pauses.ts';
import {
  account,
  billed,
  bookEqualsLog,
  eventsOf,
  foldInto,
  foreignGrant,
  heldScene,
  nextFaults,
  once,
  promptScene,
  type SettlementScene,
  submit,
  usages,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurns, passing, turns, until } from '../../fixtures/ledger/turns.ts';

inTurns();

const A = account(0);

describe('an append that goes wrong', () => {
  test.each<[string, AppendFault[], number]>([
    ['was refused', [{ type: 'refuse' }], 2],
    ['was refused again and again', [{ type: 'refuse' }, { type: 'refuse' }, { type: 'refuse' }], 4],
    ['was lost', [{ type: 'drop' }], 2],
    ['was written and its acknowledgement lost', [{ type: 'lose' }], 2],
    ['was written twice without an acknowledgement', [{ type: 'lose' }, { type: 'lose' }], 3],
    ['was written after another writer’s', [{ type: 'precede', events: foreignGrant(1) }], 2],
    [
      'was written without an acknowledgement, and then another writer’s',
      [{ type: 'lose' }, { type: 'precede', events: foreignGrant(2) }],
      2,
    ],
    [
      'was lost, then came after another writer’s, then lost its acknowledgement',
      [{ type: 'drop' }, { type: 'precede', events: foreignGrant(3) }, { type: 'lose' }],
      4,
    ],
  ])('because it %s bills each request once', async (_what, faults, appends) => {
    const scene = await promptScene(1);
    const all = usages(1, 5);
    nextFaults(scene, ...faults);
    submit(scene, A, ...all);
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(once(all));
    expect(scene.settled.toSorted()).toEqual(all.map(({ requestId }) => requestId));
    expect([scene.log.appends, scene.away, scene.stuck]).toEqual([appends, [], []]);
    // What another writer has put in front is in the repository once the next append has met it.
    submit(scene, A, usageOf(100, 1));
    await passing(scene.settlement.idle());
    expect(await bookEqualsLog(scene, A)).toBe(true);
  });

  test('is decided anew on what the other writer has written', async () => {
    const scene = await promptScene(1);
    nextFaults(scene, { type: 'precede', events: foreignGrant(1) });
    submit(scene, A, usageOf(1, 3));
    await passing(scene.settlement.idle());
    // The foreign grant cost nothing, so it burns first.
    expect(debitIn(eventsOf(scene, A))).toMatchObject({
      balanceAfter: 1_000_007n,
      grants: [{ grantId: 'f1', amount: 3n }],
    });
  });

  test('and has already been settled by the subscription is not tried again', async () => {
    const scene = await promptScene(1);
    scene.log.faults = () => ({ type: 'lose' });
    const subscription = scene.log.subscribeAll({
      after: await scene.log.headPosition(),
      onEvents: (events) => {
        for (const recorded of events) foldInto(scene.repository, recorded);
      },
    });
    submit(scene, A, usageOf(1, 3));
    await passing(scene.settlement.idle());
    await turns();
    await subscription.close();
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
    expect(scene.settled).toEqual([requestOf(1)]);
    expect(scene.log.appends).toBeLessThanOrEqual(2);
  });

  test('waits longer each time, within the bounds', async () => {
    const scene = await promptScene(1);
    nextFaults(scene, ...Array.from({ length: LIMITS.settlementAttemptsMax - 1 }, () => ({ type: 'refuse' }) as const));
    submit(scene, A, usageOf(1, 1));
    await passing(scene.settlement.idle());
    expect(waitedMs).toHaveLength(LIMITS.settlementAttemptsMax - 1);
    for (const [index, waited] of waitedMs.entries()) {
      const longest = Math.min(LIMITS.settlementBackoffMs * 2 ** index, LIMITS.settlementBackoffMaxMs);
      expect(waited).toBeGreaterThanOrEqual(longest / 2);
      expect(waited).toBeLessThanOrEqual(longest);
    }
  });
});

describe('an append that meets a conflict', () => {
  /** What the subscription brings of the log's last events. */
  const bring = ({ log, repository }: SettlementScene, last: number, count = last): void => {
    for (const recorded of log.events.slice(-last).slice(0, count)) foldInto(repository, recorded);
  };

  test('waits until what was first comes by the subscription, and reads nothing', async () => {
    const scene = await heldScene(1);
    nextFaults(scene, { type: 'precede', events: foreignGrant(1) });
    submit(scene, A, usageOf(1, 3));
    await turns();
    expect(heldMs()).toEqual([LIMITS.conflictWaitMs]);
    bring(scene, 1);
    await turns();
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
    expect([scene.log.appends, scene.log.reads, heldMs()]).toEqual([2, 0, []]);
  });

  test('does not wait where that has come by then', async () => {
    const scene = await heldScene(1);
    const gate = Promise.withResolvers<void>();
    nextFaults(scene, { type: 'stall', until: gate.promise });
    submit(scene, A, usageOf(1, 3));
    await turns();
    scene.log.write(accountStream(A), foreignGrant(1));
    bring(scene, 1);
    gate.resolve();
    await turns();
    expect([scene.log.appends, scene.log.reads, heldMs()]).toEqual([2, 0, []]);
  });

  test('reads the stream where but a part of it has come in its time', async () => {
    const scene = await heldScene(1);
    nextFaults(scene, { type: 'precede', events: [...foreignGrant(1), ...foreignGrant(2)] });
    submit(scene, A, usageOf(1, 3));
    await turns();
    bring(scene, 2, 1);
    await turns();
    expect([scene.log.appends, scene.log.reads]).toEqual([1, 0]);
    passWaits();
    await turns();
    expect([scene.log.appends, scene.log.reads]).toEqual([2, 1]);
    expect(await bookEqualsLog(scene, A)).toBe(true);
  });

  test('reads at once where the log has less than the repository: nothing will come, and the stream may be hidden', async () => {
    const scene = await heldScene(1);
    scene.log.lose(1);
    scene.log.hidden.add(accountStream(A));
    submit(scene, A, usageOf(1, 3));
    await turns();
    expect(scene.repository.whyAside(A)).toContain('hidden');
    expect([scene.settlement.aside, heldMs()]).toEqual([1, []]);
  });
});

describe('a log that is away', () => {
  test('is told once a round; the requests go back in their order and are settled when it is there again', async () => {
    const scene = await promptScene(1);
    const all = usages(1, LIMITS.settlementGroupMax + 6);
    scene.log.faults = () =>
      scene.log.appends > 2 * LIMITS.settlementAttemptsMax ? { type: 'none' } : { type: 'refuse' };
    submit(scene, A, ...all);
    await passing(scene.settlement.idle());
    expect(scene.away).toHaveLength(2);
    expect(scene.away[0]).toBeInstanceOf(EventLogError);
    expect(Math.max(...waitedMs)).toBeLessThanOrEqual(LIMITS.settlementBackoffMaxMs);
    expect(scene.back()).toBe(1);
    expect(scene.settled).toEqual(all.map(({ requestId }) => requestId));
    expect(billed(scene)).toEqual(once(all));
  });

  test('takes requests that finish in the meantime along, after the others', async () => {
    const scene = await promptScene(1);
    const gate = Promise.withResolvers<void>();
    scene.log.faults = () =>
      scene.log.appends > LIMITS.settlementAttemptsMax ? { type: 'stall', until: gate.promise } : { type: 'refuse' };
    submit(scene, A, usageOf(1, 1));
    await until(() => scene.away.length === 1);
    submit(scene, A, usageOf(2, 1));
    expect(scene.settlement.pending).toBe(2);
    gate.resolve();
    await passing(scene.settlement.idle());
    expect(scene.settled).toEqual([requestOf(1), requestOf(2)]);
  });

  test('is not told as away where conflicts do not end: others make progress, so it is there', async () => {
    const scene = await promptScene(1);
    let foreign = 0;
    scene.log.faults = () =>
      scene.log.appends > LIMITS.settlementAttemptsMax
        ? { type: 'none' }
        : { type: 'precede', events: foreignGrant(++foreign) };
    submit(scene, A, usageOf(1, 1));
    await passing(scene.settlement.idle());
    expect(scene.away).toEqual([]);
    expect(billed(scene)).toEqual(once([usageOf(1, 1)]));
  });
});
