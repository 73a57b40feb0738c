import { expect, it } from 'vitest';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import { readFeedMessage } from '../../../contracts/feed-message.ts';
import { accountId, accountStream, CATALOG_STREAM, LEDGER_STREAM, type StreamName } from '../../../contracts/ids.ts';
import type { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { eventually } from '../../kafka/eventually.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';
import { identifiedLog, relayInMemory } from './relay-in-memory.ts';

const [ADA, BOB] = [accountStream(accountId('ada')), accountStream(accountId('bob'))];

function relayOn(log: MemoryEventLog, { charactersMax = Number.POSITIVE_INFINITY } = {}) {
  const publisher = new MemoryPublisher();
  publisher.charactersMax = charactersMax;
  return { publisher, ...relayInMemory(log, publisher) };
}

/** A ledger in which the second event of a stream cannot be read. */
async function ledgerWith(
  stream: StreamName,
  wrong: { readonly type?: string; readonly data?: string; readonly metadata?: string },
) {
  const log = await identifiedLog();
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
  const relay = relayOn(log);
  const published = log.events.length - 1;
  await eventually('all are published', () => relay.publisher.messages.length >= published);
  relay.stop();
  expect(await relay.ended).toBeNull();
  const read = relay.publisher.messages.map(readFeedMessage);
  const { data, metadata, type } = log.events.find(({ stream, revision }) => stream === ADA && revision === 1) ?? {};
  const asItIs = expect.objectContaining({ stream: ADA, revision: 1, data, metadata, type });
  expect(read).toContainEqual(asItIs);
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
  const relay = relayOn(log, { charactersMax: 5_000 });
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
  const relay = relayOn(await ledgerWith(ADA, {}), { charactersMax: 5 });
  expect((await relay.ended)?.message).toContain('cannot be published, so nothing behind it is');
});

it('an event of the catalog that cannot be read stops the relay, and what stands before it is published', async () => {
  const relay = relayOn(await ledgerWith(CATALOG_STREAM, { type: 'OrderPlaced' }));
  expect((await relay.ended)?.message).toContain('catalog revision 0 (OrderPlaced');
  expect(relay.publisher.messages.map(({ headers }) => headers.ce_stream)).toEqual([LEDGER_STREAM, ADA]);
});
