import { expect, it } from 'vitest';
import type { LoggedEvent, LoggedStream } from '../logged-stream.ts';
import type { TopicMessage } from '../topic-record.ts';
import { auditTopic } from './audit-topic.ts';

const STREAM = 'account-ada';
const data = (revision: number) => ({ amount: String(revision) });

const loggedEvent = (revision: number): LoggedEvent => ({
  revision,
  position: revision,
  id: `id-${revision}`,
  type: 'CreditsGranted',
  data: data(revision),
  createdMs: 1_000,
});

const logged = (count: number, stream = STREAM): LoggedStream => ({
  stream,
  events: Array.from({ length: count }, (_, revision) => loggedEvent(revision)),
});

const message = (revision: number, change: Partial<TopicMessage> = {}): TopicMessage => ({
  partition: 1,
  offset: 0n,
  key: 'ada',
  stream: STREAM,
  revision,
  position: revision,
  type: 'CreditsGranted',
  data: JSON.stringify(data(revision)),
  atMs: 1_250,
  ...change,
});

it('finds nothing wrong with each event once, and tells how long it took, for what came since it reads the topic', () => {
  const events = [1_000, 9_000, 9_500].map((createdMs, revision) => ({ ...loggedEvent(revision), createdMs }));
  const messages = [message(0, { atMs: 9_000 }), message(1, { atMs: 9_250 }), message(2, { atMs: 9_900 })];
  const waits = [
    { fromMs: 9_000, untilMs: 9_250 },
    { fromMs: 9_500, untilMs: 9_900 },
  ];
  const expected = { faults: [], lost: 0, outOfOrder: 0, duplicates: 0, waits };
  expect(auditTopic(messages, [{ stream: STREAM, events }])).toEqual(expected);
});

it('counts what is there again, as after a relay that was killed before its checkpoint', () => {
  const again = [message(0), message(1), message(0), message(1), message(2)];
  expect(auditTopic(again, [logged(3)])).toMatchObject({ faults: [], duplicates: 2 });
});

it.each([
  ['an event that is missing at the end', [message(0)], 'ends at revision 0'],
  ['a gap', [message(0), message(2), message(1)], 'comes before revision 1'],
  ['other data', [message(0), message(1, { data: '{"amount":"7"}' })], 'not what the log has'],
  ['another type', [message(0), message(1, { type: 'PlanChanged' })], 'not what the log has'],
  ['another key', [message(0), message(1, { key: 'bob' })], 'has the key bob'],
  ['two partitions', [message(0), message(1, { partition: 2 })], 'several partitions'],
  ['an event beyond the log', [message(0), message(1), message(2)], 'is not in the log'],
  ['a stream that the log lacks', [message(0), message(1), message(0, { stream: 'account-eve' })], 'account-eve'],
])('finds %s', (_, messages, fault) => {
  expect(auditTopic(messages, [logged(2)]).faults.join('\n')).toContain(fault);
});

it('knows a stream that is no account by its own name', () => {
  const catalog = message(0, { stream: 'catalog', key: 'catalog' });
  expect(auditTopic([catalog], [logged(1, 'catalog')]).faults).toEqual([]);
});

it.each([
  ['lost at the end', [0, 1], { lost: 1, outOfOrder: 0, duplicates: 0 }],
  ['lost in the middle', [0, 2], { lost: 1, outOfOrder: 1, duplicates: 0 }],
  ['changed places', [0, 2, 1], { lost: 0, outOfOrder: 2, duplicates: 0 }],
  ['told again from the beginning', [0, 1, 0, 1, 2], { lost: 0, outOfOrder: 0, duplicates: 2 }],
])('counts events that are %s', (_, revisions, counts) => {
  const messages = revisions.map((revision) => message(revision));
  expect(auditTopic(messages, [logged(3)])).toMatchObject(counts);
});
