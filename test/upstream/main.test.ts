import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { rawRequest } from './fixtures/raw-client.ts';

const recordFile = join(temporaryFolder(), 'seen.jsonl');
const child = spawn(
  process.execPath,
  [fileURLToPath(new URL('main.ts', import.meta.url)), '--port', '0', '--record', recordFile],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
let port = 0;

beforeAll(async () => {
  const [line] = await once(createInterface(child.stdout), 'line');
  port = JSON.parse(String(line)).port;
});

afterAll(async () => {
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});

const recorded = () =>
  readFileSync(recordFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const ask = (script: object, stream = false) => rawRequest(port, { model: 'opal-large', stream, metadata: { script } });

test('has recorded a request before its answer begins', async () => {
  const client = await ask({ id: 'first', tokens: { input: 10, output: 20, cacheRead: 3 } });
  const answer = await client.until('"service_tier"');
  expect(recorded()).toContainEqual(
    expect.objectContaining({
      id: 'first',
      path: '/v1/messages',
      model: 'opal-large',
      stream: false,
      script: expect.objectContaining({ tokens: { input: 10, output: 20, cacheRead: 3 }, ending: 'complete' }),
    }),
  );
  expect(answer.toString()).toContain('request-id: req_first');
  expect(answer.toString()).toContain('"id":"msg_first"');
  expect(answer.toString()).toContain('"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":3');
  client.socket.destroy();
});

test('streams as many text deltas as it is told, then ends well', async () => {
  const client = await ask({ events: 5, tokens: { output: 20 }, delayMs: 1 }, true);
  const answer = (await client.until('0\r\n\r\n')).toString();
  expect(answer.match(/event: content_block_delta/g)).toHaveLength(5);
  expect(answer).toContain('"output_tokens":20');
  client.socket.destroy();
});

test.each([
  ['reset', 'reset'],
  ['silent', 'open'],
  ['error-event', 'error'],
])('a stream that ends with %s has half of its deltas and no message_stop', async (ending, how) => {
  const client = await ask({ events: 4, ending, delayMs: 1 }, true);
  await client.until('word 1');
  if (how === 'reset') expect(await client.ended).toBe('reset');
  // Time enough for more, where there is more: another stream, longer than the rest of this one.
  if (how === 'open') await (await ask({ events: 10, delayMs: 1 }, true)).until('message_stop');
  if (how === 'error') await client.until('event: error\ndata: {"type":"error"');
  const answer = client.received().toString();
  expect(answer.match(/event: content_block_delta/g)).toHaveLength(2);
  expect(answer).not.toContain('message_stop');
  if (how === 'open') expect(answer).not.toContain('\r\n0\r\n');
  client.socket.destroy();
});

test.each([
  ['reset', /^$/],
  ['reset-before-head', /^$/],
  ['error-event', /^HTTP\/1.1 529 /],
  ['status-500', /^HTTP\/1.1 500 /],
])('a JSON answer that ends with %s', async (ending, expected) => {
  const client = await ask({ ending });
  if (ending.startsWith('reset')) expect(await client.ended).toBe('reset');
  else await client.until('"message"');
  expect(client.received().toString()).toMatch(expected);
  client.socket.destroy();
});

test('refuses instructions that it does not understand, and records that it saw them', async () => {
  const client = await ask({ ending: 'sideways' });
  expect((await client.until('"message"')).toString()).toMatch(/^HTTP\/1.1 400 /);
  expect(recorded()).toContainEqual(expect.objectContaining({ refused: expect.stringContaining('ending') }));
  client.socket.destroy();
});
