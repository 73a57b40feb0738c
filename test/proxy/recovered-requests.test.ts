import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { type EventLog, EventLogError, HiddenStreamError } from '../../contracts/event-log.ts';
import { accountStream, type RequestId, revision } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import type { Journal, RecoveredRequest } from '../../ledger/journal/journal.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { rateUsage } from '../../ledger/rating.ts';
import { CatalogView } from '../../projections/catalog-view.ts';
import { Holds } from '../../proxy/holds.ts';
import { RecoveredRequests } from '../../proxy/recovered-requests.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { accountingWith } from '../fixtures/gateway/request-accounting.ts';
import { CARD, requestOf, usageOf } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { journalFolder } from '../fixtures/ledger/journal-folder.ts';
import { finishedText, startText } from '../fixtures/ledger/journal-texts.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import {
  account,
  billed,
  eventsOf,
  foldInto,
  once,
  type SettlementScene,
  settledElsewhere,
  settlementScene,
  submit,
} from '../fixtures/ledger/settlement-scene.ts';

const A = account(0);
const KNOWN = revision(2);
/** A little after the requests here began. */
const SOON = (): number => Date.parse(usageOf(1, 3).startedAt) + 5_000;
const silent = pino({ level: 'silent' });

/** A settlement that waits for what an earlier run has left. */
const afterRestart = () => settlementScene(1, new MemoryEventLog(), true);

async function reopened(directory: string) {
  const { journal, recovered } = await openJournal({ directory });
  return { journal: endedLater(journal), recovered };
}

/** A journal that an earlier run has left, opened again: requests that had ended, and some that had not. */
async function journalWith(ended: readonly number[], begun: readonly number[] = [], hold?: bigint, known = KNOWN) {
  const directory = journalFolder();
  const { journal } = await openJournal({ directory });
  for (const number of [...ended, ...begun])
    journal.begin(requestOf(number), startText(A, known, usageOf(number, 3), hold));
  for (const number of ended) journal.finish(requestOf(number), finishedText(A, known, usageOf(number, 3), hold));
  await journal.close();
  return reopened(directory);
}

/** A catalog in which the requests' model has its card, or an empty one. */
function catalogWith(isKnown: boolean): CatalogView {
  const catalog = new CatalogView();
  const { data } = exampleOf('CatalogPublished');
  const models = data.models.slice(0, 1).map((model) => ({ ...model, rateCard: CARD }));
  if (isKnown) catalog.fold(revision(0), { ...data, models });
  return catalog;
}

function recoveredOf(
  scene: SettlementScene,
  journal: Journal,
  recovered: readonly RecoveredRequest[],
  change: {
    log?: EventLog;
    knowsCard?: boolean;
    isOver?: (epoch: number) => boolean;
    longestMs?: number;
    clock?: () => number;
    ofEarlierGeneration?: ReadonlySet<RequestId>;
    cannotSettle?: (requestId: RequestId) => void;
  } = {},
) {
  const holds = new Holds();
  const { log, repository, settlement } = scene;
  const projections = { accounts: repository, catalog: catalogWith(change.knowsCard ?? true) };
  const isOver = change.isOver ?? (() => true);
  const parts = { recovered, log: change.log ?? log, settlement, projections, isOver };
  const accounting = accountingWith({ journal, holds, settlement, logger: silent });
  const longestMs = change.longestMs ?? 60_000;
  const requests = new RecoveredRequests({
    ...parts,
    accounting,
    longestMs,
    ofEarlierGeneration: change.ofEarlierGeneration ?? new Set(),
    cannotSettle: change.cannotSettle ?? (() => undefined),
    clock: change.clock ?? Date.now,
    logger: silent,
  });
  return { holds, requests: endedLater(requests) };
}

const costOf = (number: number): bigint => {
  return (rateUsage(usageOf(number, 3), CARD).cost + 999_999n) / 1_000_000n;
};

/** The process that died has written this request after all, and the repository has folded it. */
function appearInLog(scene: SettlementScene, number: number, usage = usageOf(number, 3)): void {
  const { state } = scene.repository.read(A);
  if (state.type === 'unopened') throw new Error('not open');
  const before = scene.log.events.length;
  settledElsewhere(scene, A, recordUsage(state, usage, CARD), usage);
  for (const recorded of scene.log.events.slice(before)) foldInto(scene.repository, recorded);
}

/** Hands a read on only after something has happened that the read does not show. */
function slowReads(scene: SettlementScene, afterRead: () => void | Promise<void>): EventLog {
  const { log } = scene;
  return {
    append: (...all) => log.append(...all),
    readStream: async function* (...all) {
      const read = await Array.fromAsync(log.readStream(...all));
      await afterRead();
      yield* read;
    },
    readAll: (...all) => log.readAll(...all),
    subscribeAll: (...all) => log.subscribeAll(...all),
    headPosition: () => log.headPosition(),
    close: () => log.close(),
  };
}

describe('requests that the journal has kept', () => {
  test('are held with what they have cost until they are settled; where nothing was seen, with nothing', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1, 2], [3]);
    const { holds, requests } = recoveredOf(scene, journal, recovered);
    expect([requests.hold(), requests.hold()]).toEqual([true, true]);
    expect([holds.count, holds.ofAccount(A)]).toEqual([2, costOf(1) + costOf(2)]);
    await passingSettled(scene, holds, requests);
    expect([holds.count, holds.ofAccount(A), scene.settlement.pending]).toEqual([0, 0n, 0]);
    expect(billed(scene)).toEqual(new Map([...once([usageOf(1, 3), usageOf(2, 3)]), [requestOf(3), '1/0']]));
  });

  test.each([
    ['their cost where it is below their hold', costOf(1) + 1n, costOf(1)],
    ['their hold where their cost is above it', costOf(1) - 1n, costOf(1) - 1n],
  ])('are held with %s', async (_which, hold, expected) => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1], [], hold);
    const { holds } = recoveredOf(scene, journal, recovered);
    expect(holds.ofAccount(A)).toBe(expected);
  });

  test('are settled before those of this run, in the order in which they began', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1, 2]);
    submit(scene, A, usageOf(3, 3));
    // Reading takes longer than a finished request waits for others.
    const log = slowReads(scene, () => delay(4 * LIMITS.settlementLingerMs));
    const { requests } = recoveredOf(scene, journal, recovered, { log });
    await requests.settle();
    expect(scene.settled).toEqual([1, 2, 3].map(requestOf));
  });

  test('of an account whose events the log hides stay where they are, held, and are settled once the account is back', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1, 2]);
    let isHidden = true;
    const hidden = (): Promise<void> =>
      Promise.reject(new HiddenStreamError(accountStream(A), 'account-a0 was deleted'));
    const log = slowReads(scene, () => (isHidden ? hidden() : Promise.resolve()));
    const { holds, requests } = recoveredOf(scene, journal, recovered, { log });
    await requests.settle();
    expect(scene.repository.whyAside(A)).toBe('account-a0 was deleted');
    expect([scene.settled, requests.count, holds.count, journal.open]).toEqual([[], 2, 2, 2]);
    // There what waits fills no bound.
    await expect.poll(() => journal.asideBytes).toBeGreaterThan(0);
    isHidden = false;
    scene.repository.setAside.takeBack(A, 'hidden');
    await expect.poll(() => scene.settled).toEqual([requestOf(1), requestOf(2)]);
    expect(requests.count).toBe(0);
  });

  test('without an end, that another process may have under way, are left to it, and recorded once it cannot', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1], [2]);
    const { requests } = recoveredOf(scene, journal, recovered, { isOver: () => false, clock: SOON });
    await requests.settle();
    // What has ended is settled in any case.
    expect(scene.settled).toEqual([requestOf(1)]);
    appearInLog(scene, 2);
    expect(billed(scene)).toEqual(once([usageOf(1, 3), usageOf(2, 3)]));
    expect(journal.open).toBe(1);
  });

  test('without an end, that another process may have under way, hold what they may cost until it has recorded them', async () => {
    const scene = await afterRestart();
    const { journal } = await reopened(journalFolder());
    const start = JSON.stringify({ ...JSON.parse(startText(A, KNOWN, usageOf(2, 3))), hold: '700' });
    const recovered = [{ requestId: requestOf(2), start, finished: null }];
    journal.begin(requestOf(2), start);
    const { holds, requests } = recoveredOf(scene, journal, recovered, { isOver: () => false, clock: SOON });
    await requests.settle();
    expect(holds.ofAccount(A)).toBe(700n);
    // What the ledger is told of them meanwhile is for this watch: nothing of it is kept for a submission to come.
    expect(requests.has(requestOf(2))).toBe(true);
    appearInLog(scene, 2);
    expect([holds.ofAccount(A), requests.has(requestOf(2))]).toEqual([0n, false]);
  });

  test('without an end, that another process may have under way under its lease, hold nothing: the log has it set aside', async () => {
    const scene = await afterRestart();
    const { journal } = await reopened(journalFolder());
    const text = startText(A, KNOWN, usageOf(2, 3), 700n);
    const start = JSON.stringify({ ...JSON.parse(text), leaseId: 'lease_1' });
    journal.begin(requestOf(2), start);
    const recovered = [{ requestId: requestOf(2), start, finished: null }];
    const { holds, requests } = recoveredOf(scene, journal, recovered, { isOver: () => false, clock: SOON });
    await requests.settle();
    expect([holds.ofAccount(A), requests.has(requestOf(2))]).toEqual([0n, true]);
  });

  test('without an end are recorded as recovered at once where no process can have them any more', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([], [2]);
    const { requests } = recoveredOf(scene, journal, recovered, { isOver: () => false, longestMs: 1, clock: SOON });
    await requests.settle();
    expect(scene.settled).toEqual([requestOf(2)]);
  });

  test('are not held in part where the price of one is not known', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1]);
    const { holds, requests } = recoveredOf(scene, journal, recovered, { knowsCard: false });
    expect([requests.hold(), holds.count]).toEqual([false, 0]);
    await expect(requests.settle()).rejects.toThrow(/which the catalog never had/);
  });

  test('are billed once where the dead process’s append comes between the reading of its stream and the hand-over', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1, 2]);
    const log = slowReads(scene, () => appearInLog(scene, 1));
    const { holds, requests } = recoveredOf(scene, journal, recovered, { log });
    await passingSettled(scene, holds, requests);
    expect(billed(scene)).toEqual(once([usageOf(1, 3), usageOf(2, 3)]));
    // The other one's end is told to the journal by settlement, in the gateway.
    expect([holds.count, journal.open]).toEqual([0, 1]);
  });

  test('are reported late where another records them as recovered between the reading of the stream and the hand-over', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1, 2], [3]);
    const log = slowReads(scene, () => {
      for (const number of [1, 3])
        appearInLog(scene, number, usageOf(number, 0, { outcome: 'recovered', source: 'estimated', billable: false }));
    });
    const { holds, requests } = recoveredOf(scene, journal, recovered, { log });
    await passingSettled(scene, holds, requests);
    const late = eventsOf(scene, A).filter(({ type }) => type === 'LateUsageReported');
    // Of the one without an end here there is nothing to report.
    expect(late).toMatchObject([{ data: { usage: { requestId: requestOf(1), tokens: usageOf(1, 3).tokens } } }]);
    expect(holds.count).toBe(0);
  });

  test('of an earlier generation of the ledger are looked for in all of their stream', async () => {
    const scene = await afterRestart();
    appearInLog(scene, 1);
    const { journal, recovered } = await journalWith([1], [], undefined, revision(40));
    const ofEarlierGeneration = new Set([requestOf(1)]);
    const { requests } = recoveredOf(scene, journal, recovered, { ofEarlierGeneration });
    await requests.settle();
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
    expect([scene.settled, journal.open]).toEqual([[], 0]);
  });

  test('are looked for again where the log is away, or answers with less than the views have', async () => {
    const scene = await afterRestart();
    appearInLog(scene, 1);
    const { journal, recovered } = await journalWith([1]);
    let reads = 0;
    const lagging: EventLog = {
      ...slowReads(scene, () => undefined),
      readStream: (stream, options) => {
        reads++;
        // The first node has nothing yet of what the views hold.
        return scene.log.readStream(stream, reads === 1 ? { from: revision(999) } : options);
      },
    };
    const { holds, requests } = recoveredOf(scene, journal, recovered, { log: lagging });
    await passingSettled(scene, holds, requests);
    expect(reads).toBe(2);
    expect(billed(scene)).toEqual(once([usageOf(1, 3)]));
  });

  test('wait no longer when the gateway closes; the journal has them still', async () => {
    const scene = await afterRestart();
    const { journal, recovered } = await journalWith([1]);
    const log: EventLog = {
      ...slowReads(scene, () => undefined),
      readStream: () => {
        throw new EventLogError('unavailable', 'the log is away');
      },
    };
    const { requests } = recoveredOf(scene, journal, recovered, { log });
    const settling = requests.settle();
    requests.close();
    await expect(settling).rejects.toThrow(/abort/i);
    expect(journal.open).toBe(1);
  });
});

/** In the gateway settlement's `onSettled` does this. */
async function passingSettled(scene: SettlementScene, holds: Holds, requests: RecoveredRequests): Promise<void> {
  await requests.settle();
  for (const requestId of scene.settled) holds.release(requestId);
}
