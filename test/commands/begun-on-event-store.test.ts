import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram, serve, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

async function site() {
  const store = endedLater(await startFakeEventStore());
  const folder = temporaryFolder();
  const configured = (name: string, eventLog: object = {}): string => {
    const file = join(folder, `${name}.json`);
    const log = { kind: 'eventstoredb', connectionString: store.connectionString, ...eventLog };
    const kafka = { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 };
    writeFileSync(file, JSON.stringify({ data: join(folder, name), logLevel: 'silent', eventLog: log, kafka }));
    return file;
  };
  const streams = (): readonly string[] => store.events().map(({ stream }) => stream);
  return { store, configured, streams, server: `EventStoreDB at 127.0.0.1:${store.port}` };
}

const open = (file: string) => runHere('--config', file, 'account', 'open', '--email', 'ada@example.com');

it('a command that begins a ledger in an event store says where: the server and the prefix, and that once', async () => {
  const { configured, streams, server } = await site();
  const [bare, prefixed] = [configured('bare'), configured('prefixed', { streamPrefix: 'a-' })];
  expect(await open(bare)).toMatchObject({ exitCode: 0, stderr: `a new ledger was begun: ${server}\n` });
  expect(await open(bare)).toMatchObject({ exitCode: 0, stderr: '' });
  const stderr = `a new ledger was begun: ${server}, its streams under the prefix "a-"\n`;
  expect(await open(prefixed)).toMatchObject({ exitCode: 0, stderr });
  expect(streams()).toContainEqual(expect.stringMatching(/^a-account-/));
});

it('a command whose first event was refused has begun none, and says of none', async () => {
  const { store, configured } = await site();
  store.faults.onAppend = ({ stream }) => (stream.startsWith('account-') ? 'access-denied' : 'ok');
  const { exitCode, stderr } = await open(configured('refused'));
  expect([exitCode, stderr]).toEqual([4, expect.not.stringContaining('begun')]);
});

it('a relay that is to fill a topic from a ledger that is not there refuses, says where, and begins none', async () => {
  const { configured, streams, server } = await site();
  await open(configured('kept', { streamPrefix: 'a-' }));
  const kept = [...streams()];
  const mistyped = configured('mistyped', { streamPrefix: 'b-' });
  const { exitCode, stdout, stderr } = await runProgram('relay', 'fill', 'next', '--config', mistyped);
  expect([exitCode, stdout]).toEqual([3, '']);
  expect(stderr).toContain(`${server}, its streams under the prefix "b-": there is no ledger to fill a topic from`);
  expect(streams()).toEqual(kept);
});

it('a start that begins one says so when it is ready, and the next says nothing', { timeout: 120_000 }, async () => {
  const { configured, streams, server } = await site();
  const file = configured('served', { streamPrefix: 'a-' });
  const begun: unknown[] = [];
  for (let starts = 0; starts < 2; starts++) {
    const { child, ready } = await serve('--config', file);
    begun.push(ready.begun);
    expect(await stop(child)).toBe(0);
  }
  expect(begun).toEqual([`${server}, its streams under the prefix "a-"`, undefined]);
  expect(streams().filter((name) => !/^(?:\$|a-)/.test(name))).toEqual([]);
});
