import { expect, test } from 'vitest';
import { type Answer, delay, failure, hangUp, head, raw, reset, write } from './answer.ts';
import { rawRequest } from './fixtures/raw-client.ts';
import { upstreamWithScript } from './fixtures/upstream-with-script.ts';

const ask = async (script: Answer) => rawRequest((await upstreamWithScript(script)).port, {});

test('resets the connection before the head', async () => {
  const client = await ask([reset]);
  expect(await client.ended).toBe('reset');
  expect(client.received()).toHaveLength(0);
});

test('resets the connection after the head', async () => {
  const client = await ask([head(), delay(1), reset]);
  expect(await client.ended).toBe('reset');
  expect(client.received().toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n([\w-]+: .*\r\n)+\r\n$/);
});

test('resets the connection in the middle of a stream, after what was written', async () => {
  const client = await ask([head(), write('event: ping\n'), delay(1), reset]);
  expect(await client.ended).toBe('reset');
  expect(client.received().toString()).toMatch(/\r\n\r\nc\r\nevent: ping\n\r\n$/);
});

test('hangs up with the answer incomplete', async () => {
  const client = await ask([head(), write('half'), hangUp]);
  expect(await client.ended).toBe('closed');
  expect(client.received().toString()).toMatch(/\r\n\r\n4\r\nhalf\r\n$/);
});

test('sends raw bytes past the framing', async () => {
  const client = await ask([raw('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345'), hangUp]);
  expect(await client.ended).toBe('closed');
  expect(client.received().toString()).toBe('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345');
});

test('answers a failure with its status, headers and envelope', async () => {
  const { url } = await upstreamWithScript(failure(529, undefined, { 'retry-after': '3' }));
  const answer = await fetch(url, { method: 'POST', body: '{}' });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([529, '3']);
  expect(await answer.json()).toEqual({
    type: 'error',
    error: { type: 'overloaded_error', message: 'the upstream says 529' },
  });
});

test('sends a head at once, before there is a body', async () => {
  const client = await ask([head(200, { 'x-first': 'yes' }), { type: 'silence' }]);
  expect((await client.until('\r\n\r\n')).toString()).toContain('x-first: yes');
  client.socket.destroy();
});
