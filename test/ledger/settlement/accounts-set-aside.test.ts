import { describe, expect, test } from 'vitest';
import { type EventLog, EventLogError, HiddenStreamError } from '../../../contracts/event-log.ts';
import { accountStream, type RequestId } from '../../../contracts/ids.ts';
import { requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import {
  account,
  billed,
  foreignGrant,
  once,
  settlementScene,
  submit,
} from '../../fixtures/ledger/settlement-scene.ts';
import { inTurnsThroughout, passing, turns } from '../../fixtures/ledger/turns.ts';

inTurnsThroughout();

const [A, B] = [account(0), account(1)];

describe('requests of an account that has an event which cannot be read', () => {
  test('wait without being tried, and the log is not taken for one that is away', async () => {
    const scene = await settlementScene(2);
    const aside: RequestId[] = [];
    scene.onAside = (ids) => aside.push(...ids);
    scene.log.write(
      accountStream(A),
      foreignGrant(1).map((event) => ({ ...event, type: 'OrderPlaced' })),
    );
    submit(scene, A, usageOf(1, 3));
    submit(scene, B, usageOf(2, 3));
    await passing(scene.settlement.idle());
    expect(scene.repository.whyAside(A)).toContain('revision 3 (OrderPlaced): unknown type');
    expect([scene.settled, scene.stuck, scene.away, aside]).toEqual([[requestOf(2)], [], [], [requestOf(1)]]);
    const { appends } = scene.log;
    submit(scene, A, usageOf(3, 3));
    await turns(200);
    expect([scene.log.appends, scene.settlement.aside, scene.settlement.pending]).toEqual([appends, 2, 2]);
    expect(aside).toEqual([requestOf(1), requestOf(3)]);
  });

  test('are settled, each once, when it can be read', async () => {
    const scene = await settlementScene(1);
    const [event] = foreignGrant(1);
    if (event === undefined) throw new Error('no event');
    scene.log.write(accountStream(A), [{ ...event, type: 'OrderPlaced' }]);
    submit(scene, A, usageOf(1, 3), usageOf(2, 3));
    await passing(scene.settlement.idle());
    Object.assign(scene.log.events.at(-1) ?? {}, event);
    scene.repository.setAside.takeBack(A, 'unreadable');
    await passing(scene.settlement.idle());
    expect(billed(scene)).toEqual(once([usageOf(1, 3), usageOf(2, 3)]));
    expect([scene.settlement.pending, scene.settlement.aside]).toEqual([0, 0]);
  });
});

test('requests of an account whose stream is hidden are not stuck: they wait until it is not', async () => {
  const scene = await settlementScene(1);
  const log: EventLog = scene.log;
  const append = log.append.bind(log);
  const hidden = (): Promise<never> =>
    Promise.reject(new HiddenStreamError(accountStream(A), 'account-a0 was deleted'));
  log.append = () => {
    log.append = hidden;
    return Promise.reject(new EventLogError('unavailable', 'no answer'));
  };
  scene.breaker.failed(new Error('no answer'));
  submit(scene, A, usageOf(1, 3));
  await passing(scene.settlement.idle());
  expect([scene.stuck, scene.settlement.aside, scene.repository.whyAside(A)]).toEqual([
    [],
    1,
    'account-a0 was deleted',
  ]);
  // That it is hidden says nothing of appends, and nobody waits for one: the log is asked.
  expect([scene.breaker.isAway, scene.breaker.wantsProbe]).toEqual([true, true]);
  log.append = append;
  scene.repository.setAside.takeBack(A, 'hidden');
  await passing(scene.settlement.idle());
  expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
});
