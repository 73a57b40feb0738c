import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LogFile } from '../eventstoredb/log-file.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readEventFile } from './event-file.ts';
import { isPublished } from './logged-stream.ts';

const event = (id: string, data: object) => ({
  id,
  type: 'CreditsGranted',
  contentType: 'application/json',
  data: Buffer.from(JSON.stringify(data)),
  metadata: Buffer.from('{}'),
});

it('reads what the event store wrote, stream by stream, and leaves out a line that was cut', () => {
  const path = join(temporaryFolder(), 'events.jsonl');
  const file = new LogFile(path);
  const append = (stream: string, ...ids: string[]) =>
    file.write({ type: 'append', stream, createdMs: 7, events: ids.map((id) => event(id, { amount: id })) });
  append('account-ada', 'a', 'b');
  append('catalog', 'c');
  append('account-ada', 'd');
  file.close();
  appendFileSync(path, '["account-ada",8,[["e"');
  const streams = readEventFile(path);
  expect(streams.map(({ stream, events }) => [stream, ...events.map(({ id }) => id)])).toEqual([
    ['account-ada', 'a', 'b', 'd'],
    ['catalog', 'c'],
  ]);
  expect(streams[0]?.events.at(-1)).toEqual({
    revision: 2,
    position: 3,
    createdMs: 7,
    id: 'd',
    type: 'CreditsGranted',
    data: { amount: 'd' },
    metadata: {},
  });
});

it('expects on the topic neither what relays, proxies and clocks keep to themselves nor what is the server’s own', () => {
  const published = ['account-ada', 'catalog', 'ledger'];
  const streams = [...published, 'relay-ledger', 'proxy-proxy_1', 'clock-proxy_1', '$settings'];
  expect(streams.filter((stream) => isPublished({ stream, events: [] }))).toEqual(published);
});
