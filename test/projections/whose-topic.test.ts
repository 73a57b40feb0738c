import { expect, test } from 'vitest';
import { accountId, LEDGER_STREAM, ledgerId } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { LedgerLostError } from '../../ledger/identity/ledger-lost.ts';
import { TopicViewSource } from '../../projections/sources/topic-view-source.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { eventually } from '../kafka/eventually.ts';
import { viewsFile, writeTo } from './example-ledger.ts';
import { exampleLog, LEDGER, LIVES, published, TOPIC, writeEvent } from './example-log.ts';
import { MemoryTopic } from './memory-topic.ts';
import { startedViews } from './started-views.ts';

const OTHER: LedgerIdentity = { ledgerId: ledgerId(`ledger_${'0189'.repeat(8)}`), generation: 1 };
const [A] = LIVES.keys();
if (A === undefined) throw new Error('no example lives');

/** Views of a log, fed from a topic; what has stopped them, and how many events they have folded by then. */
async function start(
  log: LogWithOutages,
  topic: MemoryTopic,
  ledger: LedgerIdentity | Promise<LedgerIdentity> = LEDGER,
  path = viewsFile(),
) {
  const place = { where: 'ledger.db', looks: 1 };
  const of = { topic: TOPIC, open: topic.open, log, place, doubtful: 'warn', ledger: Promise.resolve(ledger) } as const;
  const { projections, stopped, told } = await startedViews({ log, source: new TopicViewSource(of), path });
  const folded = (): number =>
    [...LIVES.keys()].reduce((sum, id) => sum + projections.accounts.read(id).revision + 1, 0);
  const refusal = async (): Promise<string> => {
    await eventually('they stop', () => stopped.length > 0);
    expect(stopped[0]).toBeInstanceOf(LedgerLostError);
    return stopped[0]?.message ?? '';
  };
  return { projections, stopped, folded, refusal, told };
}

/** A log and a topic with all of it, which says whose it is. */
function filledTopic(ledger: LedgerIdentity | null = LEDGER) {
  const [log, topic] = [exampleLog(), new MemoryTopic(3)];
  topic.send(published(log), ledger);
  return { log, topic };
}

/** What a backup of a log that was taken after so many of its events holds. */
function putBack({ inner }: LogWithOutages, events: number): LogWithOutages {
  const log = new LogWithOutages();
  for (const event of inner.events.slice(0, events)) log.inner.write(event.stream, [event]);
  return log;
}

test('views fold what says that it is of their ledger', async () => {
  const { log, topic } = filledTopic();
  const reads = log.streamReads;
  const { projections } = await start(log, topic);
  await projections.whenCaughtUp();
  // The ledger's identity, and the newest event of each partition, twice: nothing is asked for message by message.
  expect(log.streamReads - reads).toBeLessThan(12);
});

test('views fold nothing of a topic whose last messages are of another ledger', async () => {
  const { log, topic } = filledTopic(OTHER);
  const views = await start(log, topic);
  expect(await views.refusal()).toBe(
    `the topic ledger has messages of the ledger ${OTHER.ledgerId}, and the ledger (ledger.db) is ${LEDGER.ledgerId}: ` +
      'kafka.topic must name a topic of this ledger, or a new one',
  );
  expect(views.folded()).toBe(0);
});

test('views stop at a message of another ledger that comes while they follow the topic', async () => {
  const { log, topic } = filledTopic();
  const views = await start(log, topic);
  await views.projections.whenCaughtUp();
  const folded = views.folded();
  writeTo(log.inner, A, [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
  topic.send(published(log).slice(-1), OTHER);
  expect(await views.refusal()).toMatch(/^the topic ledger has messages of the ledger ledger_0189/);
  expect(views.folded()).toBe(folded);
});

test.each(['from before', 'of an earlier generation'] as const)(
  'views fold nothing of messages %s that are none of the ledger’s, though the last are',
  async (from) => {
    const log = exampleLog();
    const lost = exampleLog();
    writeTo(lost.inner, accountId('zoe'), [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    const topic = new MemoryTopic(1);
    // The last are its own: it is the first that are not.
    topic.send(published(lost).slice(-1), from === 'from before' ? null : LEDGER);
    topic.send(published(log), from === 'from before' ? null : { ...LEDGER, generation: 2 });
    if (from !== 'from before') writeEvent(log, LEDGER_STREAM, exampleOf('LossAccepted'));
    const views = await start(log, topic, from === 'from before' ? LEDGER : { ...LEDGER, generation: 2 });
    expect(await views.refusal()).toMatch(
      from === 'from before'
        ? /account-zoe: the topic ledger knows revision 0, nothing of it is there/
        : /^the topic ledger has messages of a generation before the ledger’s \(ledger\.db\), which is at 2/,
    );
    expect(views.folded()).toBe(0);
  },
);

test.each([null, LEDGER])('views fold nothing where the ledger is behind its topic (%o)', async (of) => {
  const { log, topic } = filledTopic(of);
  const views = await start(putBack(log, 20), topic);
  const message = await views.refusal();
  expect(message).toMatch(/^the ledger \(ledger\.db\) lacks events that it had; nothing is served from it:\n/);
  expect(message).toMatch(/the topic ledger knows revision \d+/);
  expect(views.folded()).toBe(0);
});

test('views say that the log is away also where nothing is known of the ledger yet', async () => {
  const { log, topic } = filledTopic();
  await log.goAway();
  const { told } = await start(log, topic, new Promise<LedgerIdentity>(() => undefined));
  await eventually('they say so', () => told.length > 0);
  expect(new Set(told)).toEqual(new Set(['dropped: the log is away']));
});

test('views wait for a log that is away before they fold messages from before', async () => {
  const { log, topic } = filledTopic(null);
  await log.goAway();
  const views = await start(log, topic);
  await eventually('they say so', () => views.told.length > 1);
  expect(views.folded()).toBe(0);
  log.comeBack();
  await views.projections.whenCaughtUp();
  expect(views.folded()).toBeGreaterThan(0);
});

const COMPACTED = {
  cleanupPolicy: 'compact',
  retentionMs: -1,
  retentionBytes: -1,
  minInsyncReplicas: 2,
  compressionType: null,
};

test.each([
  ['is compacted', { settings: COMPACTED }, /^the topic ledger is compacted/],
  [
    'has lost its beginning',
    { partitions: new Map([[1, { low: 3n, high: 9n }]]) },
    /^the topic ledger lacks its beginning \(partition 1 begins at offset 3, .* read the views from the log/,
  ],
])('views fold nothing of a topic that %s', async (_what, shown, message) => {
  const { log, topic } = filledTopic();
  topic.shown = shown;
  const views = await start(log, topic);
  await expect(views.projections.whenCaughtUp()).rejects.toThrow(message);
  expect(views.folded()).toBe(0);
});

test('views that follow a topic stop when it is compacted, and go on when it loses a beginning that they have', async () => {
  const { log, topic } = filledTopic();
  const views = await start(log, topic);
  await views.projections.whenCaughtUp();
  const ends = topic.partitions.map(
    ({ length }, at) => [at, { low: BigInt(length) - 1n, high: BigInt(length) }] as const,
  );
  topic.shown = { partitions: new Map(ends) };
  await topic.showAgain();
  expect(views.stopped).toEqual([]);
  topic.shown = { settings: COMPACTED };
  await topic.showAgain();
  expect(views.stopped.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the topic ledger is compacted/),
  ]);
});
