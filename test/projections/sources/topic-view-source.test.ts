import { copyFileSync, existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { EventLogError, type RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountOfStream,
  accountStream,
  CATALOG_STREAM,
  position,
  revision,
} from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { VIEW_LIMITS } from '../../../projections/limits.ts';
import { TopicViewSource } from '../../../projections/sources/topic-view-source.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../../fixtures/ledger/log-with-outages.ts';
import { inTurnsThroughout, passing, turns, until } from '../../fixtures/ledger/turns.ts';
import { SeededRandom } from '../../fixtures/seeded-random.ts';
import { currentAtMsOf, dump, ownedBy, positionOf, rowsOf, viewsFile, writeLives, writeTo } from '../example-ledger.ts';
import { exampleLog, LEDGER, LIVES, published, TOPIC, writeClaim, writeEvent } from '../example-log.ts';
import { MemoryTopic } from '../memory-topic.ts';
import { startedViews } from '../started-views.ts';

inTurnsThroughout();

const A = accountId('a0');
const PLAN = { type: 'PlanChanged', data: { plan: 'team', terms: null } } as const;
const clock = { nowMs: 1_900_000_000_000 };

const head = (log: LogWithOutages) => log.inner.events.at(-1)?.position ?? position(-1);

const start = (log: LogWithOutages, path: string, topic: MemoryTopic | null) =>
  startedViews(
    { log, path, clock: () => clock.nowMs, ...(topic === null ? {} : { source: feedOf(log, topic) }) },
    passing,
  );
/** A log and a topic with all of it. */
function filledTopic(partitions = 3) {
  const [log, topic] = [exampleLog(), new MemoryTopic(partitions)];
  topic.send(published(log));
  return { log, topic };
}
const feedOf = (log: LogWithOutages, topic: MemoryTopic) =>
  new TopicViewSource({
    topic: TOPIC,
    open: topic.open,
    log,
    ledger: Promise.resolve(LEDGER),
    place: { where: 'ledger.db', looks: 1 },
    doubtful: 'warn',
  });
async function followed(log: LogWithOutages, path: string, topic: MemoryTopic | null): Promise<void> {
  const { projections } = await start(log, path, topic);
  await passing(projections.whenCaughtUp());
  await passing(projections.close());
}
/** A longer log, of other accounts. */
const others = new LogWithOutages();
for (const name of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
  writeLives(
    others.inner,
    new Map([...LIVES].map(([id, events]) => ownLife(accountId(`${name}${id}`), events))),
    0,
    60,
  );
function ownLife(id: AccountId, events: readonly AccountEvent[]) {
  return [id, events.map((event) => ownedBy(id, event))] as const;
}

describe('views that are fed from a topic', () => {
  test('are those that are fed from the log, byte for byte', async () => {
    const log = exampleLog();
    const fromLog = viewsFile();
    await followed(log, fromLog, null);
    expect(rowsOf(fromLog).length).toBeGreaterThan(3 * LIVES.size);
    const runs = fc.record({
      partitions: fc.integer({ min: 1, max: 7 }),
      draws: fc.infiniteStream(fc.nat()),
      /** After how many events the relay is killed, and how many of them it then sends again. */
      kills: fc.array(fc.record({ after: fc.nat({ max: 60 }), again: fc.nat({ max: 40 }) }), { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(runs, async ({ partitions, draws, kills }) => {
        const topic = new MemoryTopic(partitions, (below) => (draws.next().value ?? 0) % below);
        const fromTopic = viewsFile();
        const events = published(log);
        let sent = 0;
        for (const { after, again } of kills) {
          topic.send(events.slice(sent, sent + after));
          // The views stop in the middle, at whatever they have come to.
          const { projections, stopped } = await start(log, fromTopic, topic);
          await turns(1 + ((draws.next().value ?? 0) % 30));
          await passing(projections.close());
          expect(stopped).toEqual([]);
          sent = Math.max(0, Math.min(sent + after, events.length) - again);
        }
        topic.send(events.slice(sent));
        await followed(log, fromTopic, topic);
        expect(rowsOf(fromTopic)).toEqual(rowsOf(fromLog));
      }),
      { numRuns: 12, seed: 20_261_121 },
    );
  });

  test.each([3, 5, 8, 13])('go on after a crash from offsets that are never ahead of their rows (%i)', async (seed) => {
    const random = new SeededRandom(seed);
    const topic = new MemoryTopic(3, (below) => random.whole(0, below - 1));
    const [path, crashed, fromLog] = [viewsFile(), viewsFile(), viewsFile()];
    topic.send(published(others));
    const { projections } = await start(others, path, topic);
    // The first write begins in the middle; nothing comes in while it ends, and then the process is no more.
    await turns(LIMITS.viewFlushMs + 2);
    // At once: what comes before its timer is nothing that this is about, and 30,000 turns are half a minute of processor time.
    vi.advanceTimersByTime(VIEW_LIMITS.catchUpPauseMs);
    await turns(2);
    for (const index of topic.partitions.keys()) topic.held.add(index);
    await until(() => dump(path).some((row) => row.startsWith('checkpoint ')));
    // The last event may have come early, in a partition that is ahead of the others; what counts is that not all have.
    const hasFolded = ({ stream, revision: at }: RecordedEvent): boolean => {
      const id = accountOfStream(stream);
      return id === null || projections.accounts.hasFolded(id, at);
    };
    expect(published(others).every(hasFolded)).toBe(false);
    for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, crashed + end);
    topic.release();
    await followed(others, crashed, topic);
    await followed(others, fromLog, null);
    expect(rowsOf(crashed)).toEqual(rowsOf(fromLog));
  });

  test('know when they hold a position, and hold an account’s revision before that', async () => {
    const { log, topic } = filledTopic(4);
    const { projections } = await start(log, viewsFile(), topic);
    await passing(projections.whenCaughtUp());
    const at = revision(projections.accounts.read(A).revision + 1);
    const seen: string[] = [];
    const next = position(head(log) + 10);
    const onEnd = (error: Error): number => seen.push(error.message);
    projections.whenAt(next).then(() => seen.push('position'), onEnd);
    writeEvent(log, CATALOG_STREAM, { ...exampleOf('CatalogPublished') });
    writeTo(log.inner, A, [PLAN]);
    const [catalog, plan] = published(log).slice(-2);
    if (catalog === undefined || plan === undefined) throw new Error('nothing was written');
    // The later one first, as it may come by another partition: it says nothing of the one before it.
    topic.send([plan]);
    await until(() => projections.accounts.hasFolded(A, at));
    expect(positionOf(projections)).toBe(plan.position);
    await expect(projections.whenAt(plan.position)).resolves.toBeUndefined();
    await turns();
    expect(seen).toEqual([]);
  });

  test('stop at a gap', async () => {
    const log = exampleLog();
    const topic = new MemoryTopic(2);
    const ofA = published(log).filter(({ stream }) => stream === accountStream(A));
    topic.send([...ofA.slice(0, 3), ...ofA.slice(4)]);
    const { projections, stopped } = await start(log, viewsFile(), topic);
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(
      /^the topic \S+ \(partition \d\) lacks revision 3 of account-a0: .* read the views from the log/,
    );
    expect(stopped).toHaveLength(1);
    expect(projections.ageMs(clock.nowMs)).toBeNull();
  });

  test('start on their rows without broker or log, and tell how old these may be', async () => {
    const { log, topic } = filledTopic();
    const path = viewsFile();
    await followed(log, path, topic);
    await log.goAway();
    clock.nowMs += 9_000;
    const away = { ...feedOf(log, topic), open: () => ({ close: async () => undefined }) };
    const { projections } = await start(log, path, Object.assign(topic, { open: away.open }));
    expect(projections.accounts.read(A).revision).toBeGreaterThan(0);
    expect([projections.isLive, projections.ageMs(clock.nowMs)]).toEqual([false, 9_000]);
  });

  test('are as old as the time since the brokers were lost from sight', async () => {
    const { log, topic } = filledTopic();
    const { projections, told } = await start(log, viewsFile(), topic);
    await passing(projections.whenCaughtUp());
    await topic.drop(new Error('no broker answers'));
    clock.nowMs += 4_000;
    expect([projections.ageMs(clock.nowMs), projections.lost]).toEqual([4_000, 'source']);
    topic.resume();
    await until(() => projections.isLive);
    expect(told).toEqual(['live', 'dropped: no broker answers', 'live']);
  });
});

describe('a topic that lags behind the log', () => {
  test('does not make views current before it has brought what the log holds', async () => {
    const log = exampleLog();
    const topic = new MemoryTopic(3);
    const events = published(log);
    topic.send(events.slice(0, 50));
    const { projections, told } = await start(log, viewsFile(), topic);
    const news: boolean[] = [];
    projections.follow({ onStopped: () => undefined, onDropped: (_, isNews) => news.push(isNews) });
    // What has not come at the first look may come by the next.
    await turns(VIEW_LIMITS.lagLookMs / 2);
    expect(told).toEqual([]);
    // Somewhere between two looks.
    await turns(1.9 * VIEW_LIMITS.lagLookMs);
    expect([projections.isLive, projections.ageMs(clock.nowMs), projections.lost]).toEqual([false, null, 'behind']);
    expect(told[0]).toMatch(/^dropped: the topic ledger lags behind the log: account-\S+ \d+ has not come, its relay/);
    topic.send(events.slice(50, 60));
    await turns(2 * VIEW_LIMITS.lagLookMs);
    expect([projections.isLive, news.filter(Boolean)]).toEqual([false, [true]]);
    topic.send(events.slice(60));
    // As soon as all of it has come: no look is waited for.
    await turns(VIEW_LIMITS.lagLookMs / 4);
    expect([projections.isLive, projections.ageMs(clock.nowMs)]).toEqual([true, 0]);
    expect([projections.lost, told.at(-1)]).toEqual([null, 'live']);
  });

  test('does not make views current while one of its partitions has not come, however far the others are', async () => {
    const log = exampleLog();
    const topic = new MemoryTopic(3);
    const last = accountId('a1');
    const partition = topic.partitionOf(accountStream(A));
    expect(topic.partitionOf(accountStream(last))).not.toBe(partition);
    const { projections } = await start(log, viewsFile(), topic);
    await turns(VIEW_LIMITS.lagLookMs);
    writeTo(log.inner, last, [PLAN]);
    topic.held.add(partition);
    topic.send(published(log));
    await until(() => positionOf(projections) === head(log));
    await turns(2 * VIEW_LIMITS.lagLookMs);
    expect(projections.isLive).toBe(false);
    topic.release();
    await turns(VIEW_LIMITS.lagLookMs / 4);
    expect(projections.isLive).toBe(true);
  });

  test('makes views older when the relay stands still, until it has caught up', async () => {
    const { log, topic } = filledTopic();
    const { projections, told } = await start(log, viewsFile(), topic);
    await passing(projections.whenCaughtUp());
    writeTo(log.inner, A, [PLAN]);
    writeClaim(log);
    await turns(2 * VIEW_LIMITS.lagLookMs + 40);
    expect(told).toEqual([
      'live',
      expect.stringMatching(/^dropped: the topic ledger lags behind the log: account-a0 \d+ has/),
    ]);
    clock.nowMs += 3_000;
    expect(projections.ageMs(clock.nowMs)).toBe(3_000);
    await turns(3 * VIEW_LIMITS.lagLookMs);
    expect(told).toHaveLength(2);
    topic.send(published(log).slice(-1));
    await turns(40);
    expect([told.at(-1), projections.ageMs(clock.nowMs)]).toEqual(['live', 0]);
  });

  test('is not one that is a moment behind, nor one whose relay only writes its checkpoints', async () => {
    const { log, topic } = filledTopic();
    const { projections, told } = await start(log, viewsFile(), topic);
    await passing(projections.whenCaughtUp());
    for (let round = 0; round < 8; round++) {
      writeTo(log.inner, A, [PLAN]);
      writeClaim(log);
      await turns(VIEW_LIMITS.lagLookMs / 2 + 7);
      topic.send(published(log).slice(-1));
      await turns(3);
    }
    expect(told).toEqual(['live']);
  });

  test('cannot be told while the log is away, so that the views count as older by the moment', async () => {
    const log = exampleLog();
    const topic = new MemoryTopic(3);
    topic.send(published(log).slice(0, 50));
    await log.goAway();
    const { projections, told } = await start(log, viewsFile(), topic);
    const news: string[] = [];
    projections.follow({
      onStopped: () => undefined,
      onDropped: (_, isNews) => void (isNews && news.push(projections.lost ?? 'none')),
    });
    await until(() => told.length > 1);
    expect([projections.isLive, projections.ageMs(clock.nowMs), projections.lost]).toEqual([false, null, 'log']);
    log.comeBack();
    topic.send(published(log).slice(50));
    await passing(projections.whenCaughtUp());
    await log.goAway();
    await until(() => !projections.isLive);
    clock.nowMs += 6_000;
    expect(projections.ageMs(clock.nowMs)).toBe(6_000);
    expect(told.at(-1)).toBe('dropped: the log is away');
    await topic.drop(new Error('no broker answers'));
    expect(news).toEqual(['log', 'log', 'source']);
    topic.resume();
    log.comeBack();
    await until(() => projections.isLive);
  });

  test('is not asked after in a log that refuses: that stops the views', async () => {
    const { log, topic } = filledTopic();
    log.fault = new EventLogError('invalid', 'no right to read');
    await log.goAway();
    const { projections, stopped } = await start(log, viewsFile(), topic);
    await expect(passing(projections.whenCaughtUp())).rejects.toThrow(/no right to read/);
    expect(stopped).toHaveLength(1);
  });
});

describe('rows of another topic of the same name', () => {
  test.each([
    ['shorter', 30, -1],
    ['longer, with other messages at the same places', undefined, 1],
  ])('are all gone before the views are current, where it is %s', async (_what, upTo, sign) => {
    const { log, topic } = filledTopic();
    const path = viewsFile();
    await followed(log, path, topic);
    const other = new LogWithOutages();
    for (const event of others.inner.events.slice(0, upTo)) other.inner.write(event.stream, [event]);
    const otherTopic = new MemoryTopic(3);
    otherTopic.send(published(other));
    for (const [index, events] of otherTopic.partitions.entries())
      expect(Math.sign(events.length - (topic.partitions[index]?.length ?? 0))).toBe(sign);
    const { projections, stopped } = await start(other, path, otherTopic);
    await passing(projections.whenCaughtUp());
    await passing(projections.close());
    expect(stopped).toEqual([]);
    const anew = viewsFile();
    await followed(other, anew, otherTopic);
    expect(dump(path)).toEqual(dump(anew));
    expect(projections.accounts.read(A).revision).toBe(-1);
  });

  test('are kept where it is the same topic, and nothing is folded twice', async () => {
    const { log, topic } = filledTopic();
    const path = viewsFile();
    await followed(log, path, topic);
    const rows = dump(path);
    const { projections } = await start(log, path, topic);
    const told: string[] = [];
    projections.accounts.onFolded((id, event) => told.push(`${id} ${event.type}`));
    await passing(projections.whenCaughtUp());
    await passing(projections.close());
    expect(told).toEqual([]);
    expect(dump(path)).toEqual(rows);
    expect(currentAtMsOf(path)).toBe(clock.nowMs);
  });
});

test('rows that came by the log are not gone on from with a topic', async () => {
  const log = exampleLog();
  const topic = new MemoryTopic(3);
  const path = viewsFile();
  await followed(log, path, null);
  const rows = rowsOf(path);
  await log.goAway();
  const { projections } = await start(log, path, topic);
  expect(projections.ageMs(clock.nowMs)).toBeNull();
  topic.send(published(log));
  log.comeBack();
  await passing(projections.whenCaughtUp());
  await passing(projections.close());
  expect(rowsOf(path)).toEqual(rows);
});
