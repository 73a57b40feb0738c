import { describe, expect, test } from 'vitest';
import { entriesOf } from '../../../ledger/account/keyed-tree.ts';
import { requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import {
  account,
  billed,
  eventsOf,
  foldInto,
  recordedElsewhere,
  type SettlementScene,
  settlementScene,
  submit,
} from '../../fixtures/ledger/settlement-scene.ts';

const A = account(0);

/** Another process, which has a copy of the journal, has recorded the request without its usage. */
const recoveredElsewhere = (scene: SettlementScene, number: number): void =>
  recordedElsewhere(scene, A, usageOf(number, 0, { outcome: 'recovered', source: 'estimated', billable: false }));

const lateIn = (scene: SettlementScene) =>
  eventsOf(scene, A).flatMap((event) => (event.type === 'LateUsageReported' ? [event.data] : []));

function expectOneException(scene: SettlementScene): void {
  expect(lateIn(scene)).toMatchObject([{ requestId: requestOf(1), usage: { tokens: { output: 3 } } }]);
  expect(billed(scene)).toEqual(new Map([[requestOf(1), '1/0']]));
  expect([scene.settled, scene.stuck]).toEqual([[requestOf(1)], []]);
  const { state } = scene.repository.read(A);
  expect(state.type === 'open' ? [...entriesOf(state.exceptions.open)].map(([id]) => id) : []).toEqual([requestOf(1)]);
}

describe('usage that finds its request recorded as recovered', () => {
  test('by a conflict is an exception, and is never dropped', async () => {
    const scene = await settlementScene(1);
    recoveredElsewhere(scene, 1);
    submit(scene, A, usageOf(1, 3));
    await scene.settlement.idle();
    expectOneException(scene);
  });

  test('while it was under way here is one, too', async () => {
    const scene = await settlementScene(1, undefined, false, (id) => id === requestOf(1));
    recoveredElsewhere(scene, 1);
    for (const recorded of scene.log.events.slice(-1)) foldInto(scene.repository, recorded);
    submit(scene, A, usageOf(1, 3));
    await scene.settlement.idle();
    expectOneException(scene);
  });

  test('is reported once, where the answer of the log is lost', async () => {
    const scene = await settlementScene(1);
    recoveredElsewhere(scene, 1);
    let appends = 0;
    scene.log.faults = () => ({ type: ++appends === 2 ? 'lose' : 'none' });
    submit(scene, A, usageOf(1, 3));
    await scene.settlement.idle();
    expectOneException(scene);
  });

  test('says nothing new where it says itself that nothing was seen', async () => {
    const scene = await settlementScene(1);
    recoveredElsewhere(scene, 1);
    submit(scene, A, usageOf(1, 0, { outcome: 'recovered', billable: false }));
    await scene.settlement.idle();
    expect(lateIn(scene)).toEqual([]);
    expect(scene.settled).toEqual([requestOf(1)]);
  });

  test('while it was under way here is kept no longer than it is: it may have been abandoned', async () => {
    const underWay = new Set([requestOf(1), requestOf(2)]);
    const scene = await settlementScene(1, undefined, false, (id) => underWay.has(id));
    for (const number of [1, 2]) {
      recoveredElsewhere(scene, number);
      for (const recorded of scene.log.events.slice(-1)) foldInto(scene.repository, recorded);
      underWay.delete(requestOf(1));
    }
    // Nobody submits an abandoned request; here it shows that of the two only the other is known any more.
    for (const number of [1, 2]) submit(scene, A, usageOf(number, 3));
    await scene.settlement.idle();
    expect(lateIn(scene)).toMatchObject([{ requestId: requestOf(2) }]);
  });
});
