import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { appendCounted, CREDENTIALS, collect, connect, counted, idOf } from './with-client.ts';

const MAIN = new URL('main.ts', import.meta.url).pathname;
const STREAM = 'account-1';

async function startProcess(
  ...args: string[]
): Promise<{ connectionString: string; port: number; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const [line] = await once(createInterface(child.stdout), 'line');
  return { ...JSON.parse(String(line)), kill };
}

test('what a process has answered for outlives kill -9, positions and all', async () => {
  const file = join(temporaryFolder(), 'log.jsonl');
  const first = await startProcess('--file', file);
  const client = connect(first.connectionString);
  await appendCounted(client, STREAM, 3);
  await client.setStreamMetadata(STREAM, { maxCount: 2 });
  await client.tombstoneStream('account-2');
  const before = await collect(client.readAll());
  await first.kill();
  // As though the last write had been cut short.
  appendFileSync(file, '["account-1",17');

  const second = await startProcess('--file', file, '--port', String(first.port));
  expect(second.connectionString).toBe(first.connectionString);
  const again = connect(second.connectionString);
  expect(await collect(again.readAll())).toEqual(before);
  const shown = await collect(again.readStream(STREAM));
  expect(shown.map(({ event }) => event?.id)).toEqual([idOf(1), idOf(2)]);
  await expect(again.appendToStream('account-2', counted(9), CREDENTIALS)).rejects.toMatchObject({
    type: 'stream-deleted',
  });
  await expect(
    again.appendToStream(STREAM, counted(0, 1, 2), { expectedRevision: 'no_stream', ...CREDENTIALS }),
  ).resolves.toMatchObject({ nextExpectedRevision: 2n });
  await again.appendToStream(STREAM, counted(3), { expectedRevision: 2n, ...CREDENTIALS });
  await second.kill();

  const third = await startProcess('--file', file);
  const events = await collect(connect(third.connectionString).readAll());
  expect(events.slice(0, -1)).toEqual(before);
  expect(events.at(-1)?.event?.id).toBe(idOf(3));
});
