import { expect, it } from 'vitest';
import { givenEventStore } from './given-event-store.ts';
import { PathToServer } from './path-to-server.ts';

it('leads to one host without TLS, with its credentials and settings', async () => {
  const path = await PathToServer.open('esdb://ops:secret@10.0.0.1:3113?tls=false&keepAliveInterval=9');
  expect(path?.connectionString).toMatch(/^esdb:\/\/ops:secret@127\.0\.0\.1:\d+\?tls=false&keepAliveInterval=9$/);
  await path?.stop();
});

it.each(['esdb://a:2113,b:2113?tls=false', 'esdb://a:2113', 'esdb://a:2113?tls=true', 'esdb+discover://a?tls=false'])(
  'leads nowhere for %s, whose connections go another way',
  async (connectionString) => expect(await PathToServer.open(connectionString)).toBeNull(),
);

it('names the server of EVENTSTOREDB_URL with streams of each run’s own, and none where it is not set', () => {
  const environment = { EVENTSTOREDB_URL: ' esdb://a:2113?tls=false ' };
  const [one, two] = [givenEventStore(environment), givenEventStore(environment)];
  expect(one?.connectionString).toBe('esdb://a:2113?tls=false');
  expect(one?.streamPrefix).toMatch(/^run[0-9a-f]{16}-$/);
  expect(one?.streamPrefix).not.toBe(two?.streamPrefix);
  expect(givenEventStore({})).toBeNull();
  expect(givenEventStore({ EVENTSTOREDB_URL: '' })).toBeNull();
});
