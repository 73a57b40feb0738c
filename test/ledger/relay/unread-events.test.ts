import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import { readFeedMessage } from '../../../contracts/feed-message.ts';
import { accountId, accountStream, CATALOG_STREAM, type StreamName } from '../../../contracts/ids.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { runRelay } from '../../../ledger/relay/relay.ts';
import { RelayMetrics } from '../../../ledger/relay/relay-metrics.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { eventually } from '../../kafka/eventually.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';

const [ADA, BOB] = [accountStream(accountId('ada')), accountStream(accountId('bob'))];

async function relayOn(log: MemoryEventLog, { charactersMax = Number.POSITIVE_INFINITY } = {}) {
  const [publisher, registry, stop, lines] = [
    new MemoryPublisher(),
    new Registry(),
    new AbortController(),
    [] as string[],
  ];
  publisher.charactersMax = charactersMax;
  const ended = runRelay({
    log,
    publisher,
    feed: 'ledger',
    relay: 'relay',
    claimMs: 30_000,
    metrics: new RelayMetrics(registry, Date.now),
    logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
    clock: Date.now,
    place: { where: 'ledger.db', looks: 1 },
    topicLookMs: 60_000,
    signal: stop.signal,
  }).then(
    () => null,
    (error: unknown) => error as Error,
  );
  return { publisher, registry, ended, lines, stop: () => stop.abort() };
}

/** A ledger in which the second event of a stream cannot be read. */
async function ledgerWith(
  stream: StreamName,
  wrong: { readonly type?: string; readonly data?: string; readonly metadata?: string },
) {
  const log = new MemoryEventLog();
  await identifyLedger(log, Date.now(), recordingBy('operator', Date.now()));
  log.write(ADA, proposed(1));
  log.write(
    stream,
    proposed(1).map((event) => ({ ...event, ...wrong })),
  );
  log.write(ADA, proposed(1));
  log.write(BOB, proposed(2));
  return log;
}

it.each([
  ['of an unknown type', { type: 'OrderPlaced' }],
  ['whose data is no JSON', { data: '{"cut' }],
  ['that is no text at all', { data: '', metadata: '' }],
])('an event of an account %s goes out as it is, told, and all behind it', async (_, wrong) => {
  const log = await ledgerWith(ADA, wrong);
  const relay = await relayOn(log);
  const published = log.events.length - 1;
  await eventually('all are published', () => relay.publisher.messages.length >= published);
  relay.stop();
  expect(await relay.ended).toBeNull();
  const read = relay.publisher.messages.map(readFeedMessage);
  const inTopic = ({ stream, revision, data, metadata, type }: (typeof read)[number]) => ({
    stream,
    revision,
    data,
    metadata,
    type,
  });
  const bad = log.events.find(({ stream, revision }) => stream === ADA && revision === 1);
  expect(read.map(inTopic)).toContainEqual({
    stream: ADA,
    revision: 1,
    data: bad?.data,
    metadata: bad?.metadata,
    type: bad?.type,
  });
  expect(read.filter(({ stream }) => stream === BOB)).toHaveLength(2);
  for (const event of read)
    if (event.stream === ADA && event.revision === 1) expect(() => decodeEvent(event)).toThrow(ADA);
  expect(await relay.registry.metrics()).toMatch(/^gateway_relay_unread_total 1$/m);
  expect(relay.lines.filter((line) => line.includes(`${ADA} revision 1`))).toHaveLength(1);
});

it.each([
  ['data', { data: 'x'.repeat(10_000) }],
  ['metadata', { metadata: 'x'.repeat(10_000) }],
])('one that is too large by its %s goes out without its content, and all behind it', async (_, wrong) => {
  const log = await ledgerWith(ADA, wrong);
  const relay = await relayOn(log, { charactersMax: 5_000 });
  await eventually('all are published', () => relay.publisher.messages.length >= log.events.length - 1);
  relay.stop();
  expect(await relay.ended).toBeNull();
  const read = relay.publisher.messages.map(readFeedMessage);
  expect(read.filter(({ stream }) => stream === ADA).map(({ revision, data }) => [revision, data === ''])).toEqual([
    [0, false],
    [1, true],
    [2, false],
  ]);
  const [bad] = read.filter(({ data }) => data === '');
  expect(bad).toMatchObject({ metadata: '', id: log.events.find(({ id }) => id === bad?.id)?.id });
  expect(relay.lines.filter((line) => line.includes('is published without its content'))).toHaveLength(1);
});

it('one that can be read and is too large stops the relay', async () => {
  const relay = await relayOn(await ledgerWith(ADA, {}), { charactersMax: 5 });
  expect((await relay.ended)?.message).toContain('cannot be published, so nothing behind it is');
});

it('an event of the catalog that cannot be read stops the relay', async () => {
  const relay = await relayOn(await ledgerWith(CATALOG_STREAM, { type: 'OrderPlaced' }));
  expect((await relay.ended)?.message).toContain('catalog revision 0 (OrderPlaced');
});
