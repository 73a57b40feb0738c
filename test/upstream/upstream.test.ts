import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { head, json, silence, stream, wait, write } from './answer.ts';
import { chunksOf, rawRequest, requestBytes } from './fixtures/raw-client.ts';
import { upstreamWithScript } from './fixtures/upstream-with-script.ts';
import { startUpstream } from './upstream.ts';

const ASK = { model: 'opal-large', max_tokens: 5, messages: [{ role: 'user', content: 'Grüße' }] };

async function post(url: string, body: unknown, path = '/v1/messages'): Promise<Response> {
  return fetch(url + path, { method: 'POST', body: JSON.stringify(body) });
}

test('answers a JSON request with a Message of the same model', async () => {
  const { url } = await upstreamWithScript();
  const answer = await post(url, ASK);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ type: 'message', model: 'opal-large', stop_reason: 'end_turn' });
});

test('answers a streamed request with one HTTP chunk an event', async () => {
  const { port } = await upstreamWithScript();
  const client = await rawRequest(port, { ...ASK, stream: true });
  const chunks = chunksOf(await client.until('0\r\n\r\n'));
  expect(chunks.map((chunk) => /^event: (\w+)/.exec(chunk)?.[1])).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    ...Array(4).fill('content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  expect(chunks[0]).toContain('"model":"opal-large"');
  client.socket.destroy();
});

test('counts tokens, and knows no other path', async () => {
  const { url } = await upstreamWithScript();
  expect(await (await post(url, ASK, '/v1/messages/count_tokens?beta=true')).json()).toEqual({
    input_tokens: expect.any(Number),
  });
  expect((await post(url, ASK, '/v1/complete')).status).toBe(404);
  expect((await post(url, 'no object')).status).toBe(400);
});

test('records the request as it came, to the byte', async () => {
  const upstream = await upstreamWithScript();
  const body = `  ${JSON.stringify(ASK)}\n`;
  const client = await rawRequest(upstream.port, body, '/v1/messages?beta=true');
  const seen = await upstream.seen(0);
  expect(seen).toMatchObject({ index: 0, method: 'POST', path: '/v1/messages?beta=true' });
  expect(seen.body.equals(Buffer.from(body))).toBe(true);
  expect(seen.rawHeaders).toContain('X-API-Key');
  await seen.over;
  client.socket.destroy();
});

test('tells when it wrote and that the answer ended', async () => {
  const upstream = await upstreamWithScript(stream(['one', 'three']));
  const before = performance.now();
  await (await post(upstream.url, ASK)).text();
  const seen = await upstream.seen(0);
  await seen.over;
  expect(seen.writes.map(({ bytes }) => bytes)).toEqual([3, 5]);
  const times = [before, seen.arrivedMs, seen.readMs, ...seen.writes.map(({ atMs }) => atMs), seen.endedMs ?? 0];
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(seen.leftMs).toBeNull();
});

test('tells when the client left in the middle', async () => {
  const upstream = await upstreamWithScript([head(), write('one'), silence]);
  const client = await rawRequest(upstream.port, ASK);
  await client.until('one');
  const leftAfter = performance.now();
  client.socket.destroy();
  const seen = await upstream.seen(0);
  await seen.over;
  expect(seen.leftMs).toBeGreaterThanOrEqual(leftAfter);
  expect(seen.endedMs).toBeNull();
});

test('holds an answer at a gate until the test opens it, while others are answered', async () => {
  const gate = Promise.withResolvers<void>();
  const upstream = await upstreamWithScript(({ index }) =>
    index === 0 ? [head(), write('one'), wait(gate.promise), write('two')] : json({ index }),
  );
  const held = await rawRequest(upstream.port, ASK);
  await held.until('one');
  expect(await (await post(upstream.url, ASK)).json()).toEqual({ index: 1 });
  expect(held.received().includes('two')).toBe(false);
  gate.resolve();
  expect(chunksOf(await held.until('0\r\n\r\n'))).toEqual(['one', 'two']);
  held.socket.destroy();
});

test('answers later requests by a later script', async () => {
  const upstream = await upstreamWithScript(json({ script: 1 }));
  expect(await (await post(upstream.url, ASK)).json()).toEqual({ script: 1 });
  upstream.answerWith(json({ script: 2 }));
  expect(await (await post(upstream.url, ASK)).json()).toEqual({ script: 2 });
  expect(upstream.requests).toHaveLength(2);
});

test('serves request after request on one connection', async () => {
  const upstream = await upstreamWithScript(({ index }) => json({ index }));
  const client = await rawRequest(upstream.port, ASK);
  await client.until('{"index":0}');
  client.socket.write(requestBytes(ASK));
  await client.until('{"index":1}');
  client.socket.destroy();
});

test('does not record a request that was cut off before its end', async () => {
  const upstream = await upstreamWithScript();
  const socket = connect(upstream.port, '127.0.0.1');
  socket.write(requestBytes(ASK).subarray(0, -1));
  socket.end();
  await expect.poll(() => upstream.cutRequests).toBe(1);
  expect(upstream.requests).toEqual([]);
});

test('close tells the fault of a script, and rejects what was still awaited', async () => {
  const upstream = await startUpstream({ script: [write('a body without a head')] });
  await expect(post(upstream.url, ASK)).rejects.toThrow();
  const awaited = expect(upstream.seen(7)).rejects.toThrow('before it saw request 7');
  await expect(upstream.close()).rejects.toThrow('head before its body');
  await awaited;
});

test('close ends a silent answer', async () => {
  const upstream = await startUpstream({ script: [silence] });
  const client = await rawRequest(upstream.port, ASK);
  await upstream.seen(0);
  await upstream.close();
  expect(['closed', 'reset']).toContain(await client.ended);
});
