import { describe, expect, test } from 'vitest';
import { revision } from '../../../contracts/ids.ts';
import { reportLateUsage } from '../../../ledger/account/decide-exceptions.ts';
import type { RecoveredRequest } from '../../../ledger/journal/journal.ts';
import { reconcileRecovered } from '../../../ledger/settlement/recover-requests.ts';
import { CARD, requestOf, usageOf } from '../../fixtures/ledger/example-account.ts';
import { finishedText, startText } from '../../fixtures/ledger/journal-texts.ts';
import {
  account,
  foldInto,
  recordedElsewhere,
  settledElsewhere,
  settlementScene,
} from '../../fixtures/ledger/settlement-scene.ts';

const A = account(0);
const B = account(1);
const NOW = Date.parse('2026-11-07T00:00:00.000Z');
/** The stream of each account has three events before any request. */
const KNOWN = revision(2);

const begun = (number: number, known = KNOWN, of = A): RecoveredRequest => ({
  requestId: requestOf(number),
  start: startText(of, known, usageOf(number, 3)),
  finished: null,
});
const ended = (number: number, known = KNOWN, of = A): RecoveredRequest => ({
  requestId: requestOf(number),
  start: startText(of, known, usageOf(number, 3)),
  finished: finishedText(of, known, usageOf(number, 3)),
});

async function sceneWith(...settled: readonly number[]) {
  const scene = await settlementScene(2);
  for (const number of settled) {
    recordedElsewhere(scene, A, usageOf(number, 3));
    for (const recorded of scene.log.events.slice(-2)) foldInto(scene.repository, recorded);
  }
  return scene;
}

describe('a request that the journal still holds', () => {
  test('and that had ended is to be settled with the usage that was seen', async () => {
    const { log } = await sceneWith();
    expect(await reconcileRecovered(log, [ended(1)], NOW)).toEqual({
      unsettled: [{ accountId: A, usage: usageOf(1, 3), leaseId: null, isLate: false, epoch: 0 }],
      recorded: [],
      untold: new Map(),
    });
  });

  test('and that had not ended is recorded as recovered, and not charged', async () => {
    const { log } = await sceneWith();
    const { unsettled } = await reconcileRecovered(log, [begun(1)], NOW);
    expect(unsettled).toEqual([
      {
        accountId: A,
        usage: usageOf(1, 0, {
          outcome: 'recovered',
          source: 'estimated',
          billable: false,
          finishedAt: '2026-11-07T00:00:00.000Z',
        }),
        leaseId: null,
        isLate: false,
        epoch: 0,
      },
    ]);
  });

  test('and whose start is damaged is settled from its end alone', async () => {
    const { log } = await sceneWith();
    const request: RecoveredRequest = { ...ended(1), start: null, finished: finishedText(A, KNOWN, usageOf(1, 3)) };
    expect((await reconcileRecovered(log, [request], NOW)).unsettled).toEqual([
      { accountId: A, usage: usageOf(1, 3), leaseId: null, isLate: false, epoch: 0 },
    ]);
  });

  test('and whose usage finds it recorded as recovered is late, once', async () => {
    const scene = await sceneWith();
    const { state } = scene.repository.read(A);
    if (state.type === 'unopened') throw new Error('not open');
    const recovered = usageOf(1, 0, { outcome: 'recovered', billable: false });
    recordedElsewhere(scene, A, recovered);
    const { unsettled, recorded } = await reconcileRecovered(scene.log, [ended(1)], NOW);
    expect(unsettled).toEqual([{ accountId: A, usage: usageOf(1, 3), leaseId: null, isLate: true, epoch: 0 }]);
    expect(recorded).toEqual([]);
    // Without an end here there is nothing to say.
    expect((await reconcileRecovered(scene.log, [begun(1)], NOW)).recorded).toEqual([requestOf(1)]);
    const late = reportLateUsage({ type: 'ReportLateUsage', usage: usageOf(1, 3), card: CARD }, state);
    settledElsewhere(scene, A, late, usageOf(2, 3));
    expect((await reconcileRecovered(scene.log, [ended(1)], NOW)).recorded).toEqual([requestOf(1)]);
  });

  test.each([ended(1), begun(1)])('and that the ledger has is not settled again (%#)', async (request) => {
    const { log } = await sceneWith(1);
    expect(await reconcileRecovered(log, [request], NOW)).toEqual({
      unsettled: [],
      recorded: [requestOf(1)],
      untold: new Map(),
    });
  });

  test('is looked for from the revision on that its account had when it began', async () => {
    const { log } = await sceneWith(1, 2);
    // Request 2 began when request 1 (revisions 3 and 4) was known.
    expect(await reconcileRecovered(log, [ended(2, revision(4))], NOW)).toEqual({
      unsettled: [],
      recorded: [requestOf(2)],
      untold: new Map(),
    });
  });

  test('is looked for from the lowest of the revisions, where an account has several', async () => {
    const { log } = await sceneWith(1, 2);
    const found = await reconcileRecovered(log, [ended(3, revision(6)), ended(1), ended(2, revision(4))], NOW);
    expect(found.unsettled.map(({ usage }) => usage.requestId)).toEqual([requestOf(3)]);
    expect(found.recorded).toEqual([requestOf(1), requestOf(2)]);
  });

  test('of an earlier generation of the ledger is looked for in all of its stream: its revision is of another', async () => {
    const { log } = await sceneWith(1, 2);
    const requests = [ended(1, revision(40)), ended(3, revision(40))];
    const found = await reconcileRecovered(log, requests, NOW, undefined, new Set([requestOf(1)]));
    expect(found.recorded).toEqual([requestOf(1)]);
    expect(found.unsettled.map(({ usage }) => usage.requestId)).toEqual([requestOf(3)]);
  });

  test('is looked for in its own account only', async () => {
    const { log } = await sceneWith(1);
    const found = await reconcileRecovered(log, [ended(1), ended(2, KNOWN, B), begun(3, KNOWN, B)], NOW);
    expect(found.recorded).toEqual([requestOf(1)]);
    expect(found.unsettled.map(({ accountId, usage }) => [accountId, usage.requestId])).toEqual([
      [B, requestOf(2)],
      [B, requestOf(3)],
    ]);
  });

  test('of an account without events is to be settled, and found out later', async () => {
    const { log } = await sceneWith();
    const found = await reconcileRecovered(log, [ended(1, revision(-1), account(7))], NOW);
    expect(found.unsettled).toHaveLength(1);
  });

  test.each<[string, RecoveredRequest]>([
    ['has no JSON', { ...begun(1), start: '{' } as RecoveredRequest],
    ['lacks a field', { ...begun(1), start: '{"accountId":"a0"}' } as RecoveredRequest],
    ['has an end of another form', { ...ended(1), finished: '{"started":{},"ending":{}}' } as RecoveredRequest],
  ])('and whose text %s stops the start: it is not passed over', async (_what, request) => {
    const { log } = await sceneWith();
    await expect(reconcileRecovered(log, [ended(2), request], NOW)).rejects.toThrow();
  });

  test('none: nothing is read', async () => {
    const { log } = await sceneWith();
    expect(await reconcileRecovered(log, [], NOW)).toEqual({ unsettled: [], recorded: [], untold: new Map() });
  });
});
