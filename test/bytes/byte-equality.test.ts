import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { RATE_LIMIT_HEADERS } from '../../proxy/rate-limits/rate-limit-headers.ts';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { head, json, stream, wait, write } from '../upstream/answer.ts';
import { text, toolUse } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { byteByByte, cutAtRandom, oneChunk } from '../upstream/rechunk.ts';
import { comment, event, streamEvents } from '../upstream/stream-events.ts';

/** What holds, 1: what the upstream sends with status 200 reaches the client byte for byte, as soon as it arrives. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const multiByte = ['Grüße, ', '世界 ', '👩‍👩‍👧‍👦', ' ﷽ ', '\u2028', 'e\u0301'];
const blocks = [
  text(...multiByte, 'says "message_delta" and\n\nevent: error'),
  toolUse('weather', '{"city":', '"Zürich"}'),
];
const tokens = { input: 11, output: 7, cacheRead: 5, cacheWrite5m: 3, cacheWrite1h: 2 };
const content = { blocks, tokens };
const lf = streamEvents(content);
const crlf = streamEvents(content, { lineEnd: '\r\n' });
const rich = streamEvents(content, { comments: true, unknownEvents: true });
const cr = lf.map((bytes) => Buffer.from(bytes.toString('utf8').replaceAll('\n', '\r')));
const mixed = lf.map((bytes, index) => [bytes, crlf[index] ?? bytes, cr[index] ?? bytes][index % 3] ?? bytes);
const pings = lf.flatMap((bytes) => [bytes, event('ping', { type: 'ping' }), comment('still there')]);

describe('a stream reaches the client byte for byte, and is metered', () => {
  const forms: [string, Buffer[]][] = [
    ['LF', lf],
    ['CRLF', crlf],
    ['CR', cr],
    ['line ends mixed', mixed],
    ['comments and unknown events', rich],
    ['pings and comments between all events', pings],
    ['a byte order mark', [Buffer.from('\uFEFF'), ...lf]],
  ];
  const cuts: [string, (chunks: Buffer[]) => Buffer[]][] = [
    ['an event a chunk', (chunks) => chunks],
    ['everything in one chunk', oneChunk],
    ['one byte a chunk', byteByByte],
    ...[1, 2, 3, 4].map((seed): [string, (chunks: Buffer[]) => Buffer[]] => [
      `cut at random (seed ${seed})`,
      (chunks) => cutAtRandom(chunks, seed, 40),
    ]),
  ];
  const cases = forms.flatMap(([form, chunks]) =>
    cuts.map(([cut, rechunk]) => ({ form, cut, chunks: rechunk(chunks) })),
  );

  it.each(cases)('$form, $cut', async ({ chunks }) => {
    upstream.answerWith(stream(chunks));
    const before = await recorded(gateway);
    const answer = await postMessage(gateway, { stream: true });
    const body = await answer.rest();
    expect(sha256(body)).toBe(sha256(Buffer.concat(chunks)));
    const { usages } = await recorded(gateway);
    expect(usages).toHaveLength(before.usages.length + 1);
    expect(usages.at(-1)).toMatchObject({ outcome: 'completed', source: 'reported', tokens });
  });
});

it('passes 20,000 deltas on byte for byte', async () => {
  const long = streamEvents({
    blocks: [text(...Array.from({ length: 20_000 }, (_, index) => `word${index} `))],
    tokens,
  });
  upstream.answerWith(stream(cutAtRandom(long, 7, 20_000)));
  const answer = await postMessage(gateway, { stream: true });
  expect(sha256(await answer.rest())).toBe(sha256(Buffer.concat(long)));
  expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
});

it('passes a JSON answer on byte for byte, with its length, however it is written', async () => {
  const odd = JSON.stringify({ ...message({ tokens }), extra: multiByte.join('') }, null, 3);
  for (const answer of [
    json(odd),
    [head(200, { 'content-type': 'application/json' }), ...byteByByte([Buffer.from(odd)]).map(write)],
  ]) {
    upstream.answerWith(answer);
    const got = await postMessage(gateway);
    expect((await got.rest()).toString('utf8')).toBe(odd);
    expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
  }
});

it('holds no byte back: each event is with the client before the next is sent', async () => {
  for (let round = 0; round < 3; round++) {
    const gates = lf.map(() => Promise.withResolvers<void>());
    const steps = lf.flatMap((bytes, index) => [write(bytes), wait(gates[index]?.promise ?? Promise.resolve())]);
    upstream.answerWith([head(), ...steps]);
    const answer = await postMessage(gateway, { stream: true });
    for (const [place, bytes] of lf.entries()) {
      let got = Buffer.alloc(0);
      // The upstream is held at its gate, so what is read here can only be what it has sent.
      while (got.length < bytes.length) got = Buffer.concat([got, (await answer.next()) ?? Buffer.alloc(bytes.length)]);
      expect(got.equals(bytes)).toBe(true);
      gates[place]?.resolve();
    }
    expect(await answer.next()).toBeNull();
  }
});

it('sends the head on before the first event has come', async () => {
  const gate = Promise.withResolvers<void>();
  upstream.answerWith([head(), wait(gate.promise), ...lf.map(write)]);
  const answer = await postMessage(gateway, { stream: true });
  expect(answer.status).toBe(200);
  gate.resolve();
  expect(sha256(await answer.rest())).toBe(sha256(Buffer.concat(lf)));
});

it('stops reading from the upstream while the client does not read, and loses nothing', async () => {
  const chunk = event('content_block_delta', {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'x'.repeat(65_000) },
  });
  const many = [...lf.slice(0, 3), ...Array.from({ length: 2_400 }, () => chunk), ...lf.slice(3)];
  upstream.answerWith(stream(many));
  const index = upstream.requests.length;
  const answer = await postMessage(gateway, { stream: true });
  await answer.next();
  const seen = await upstream.seen(index);
  // Nobody reads: the upstream's writes come to a stand with the most of 156 MB unsent
  // (what is sent lies in the kernel's buffers of two connections).
  let written = -1;
  while (written !== seen.writes.length) {
    written = seen.writes.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(written).toBeLessThan(1_200);
  const body = await answer.rest();
  expect(body.length).toBeGreaterThan(150_000_000);
  expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
});

describe('what goes upstream', () => {
  it("is the client's bytes, unless the model has another name there", async () => {
    upstream.answerWith(stream(lf));
    const index = upstream.requests.length;
    const odd = {
      messages: [{ role: 'user', content: 'Grüße' }],
      metadata: { model: 'opal-renamed' },
      unknown: { deep: [1.0, 2e5] },
    };
    await (await postMessage(gateway, { stream: true, body: odd })).rest();
    await (await postMessage(gateway, { stream: true, model: 'opal-renamed', body: odd })).rest();
    const [same, renamed] = [await upstream.seen(index), await upstream.seen(index + 1)];
    const sent = JSON.stringify({ model: 'opal-medium', max_tokens: 1_000, stream: true, ...odd });
    expect(same.body.toString('utf8')).toBe(sent);
    expect(renamed.body.toString('utf8')).toBe(sent.replace('"model":"opal-medium"', '"model":"name-upstream"'));
  });

  it("carries the provider's credential and the beta header, and nothing else of the client's", async () => {
    upstream.answerWith(stream(lf));
    const index = upstream.requests.length;
    const headers = {
      'anthropic-beta': 'pdfs-2024-09-25,files-api-2025-04-14',
      'anthropic-version': '2026-10-21',
      cookie: 'secret=1',
      'x-stainless-lang': 'js',
    };
    await (await postMessage(gateway, { stream: true, headers })).rest();
    const seen = await upstream.seen(index);
    expect(seen.headers).toMatchObject({
      'x-api-key': 'upstream-secret-key',
      'anthropic-beta': 'pdfs-2024-09-25,files-api-2025-04-14',
      'anthropic-version': '2026-10-21',
    });
    expect(Object.keys(seen.headers).sort()).toEqual(
      [
        'accept-encoding',
        'anthropic-beta',
        'anthropic-version',
        'connection',
        'content-length',
        'content-type',
        'host',
        'x-api-key',
      ].sort(),
    );
  });

  it("answers with no header of the upstream's but the type", async () => {
    upstream.answerWith(
      stream(lf, {
        'set-cookie': 'a=b',
        'anthropic-ratelimit-requests-remaining': '1',
        'x-secret': '1',
        'request-id': 'req_upstream',
      }),
    );
    const answer = await postMessage(gateway, { stream: true });
    await answer.rest();
    // Those of its limits are the gateway's own.
    expect(answer.headers['anthropic-ratelimit-requests-remaining']).not.toBe('1');
    expect(Object.keys(answer.headers).sort()).toEqual([
      ...RATE_LIMIT_HEADERS.toSorted(),
      'cache-control',
      'connection',
      'content-type',
      'date',
      'request-id',
      'transfer-encoding',
      'x-accel-buffering',
    ]);
    expect((await recorded(gateway)).usages.at(-1)?.upstream.requestId).toBe('req_upstream');
  });
});

describe('the fast lane', () => {
  it.each([
    ['the body', { body: { speed: 'fast' } }],
    ['the header', { headers: { 'x-svc-speed': 'fast' } }],
  ])('is asked for upstream by %s, and billed twice only when it was served', async (_how, asked) => {
    for (const serviceTier of ['priority', 'standard']) {
      upstream.answerWith(json(message({ tokens: { input: 1_000, output: 100 }, serviceTier })));
      const index = upstream.requests.length;
      await (await postMessage(gateway, { model: 'opal-fast', ...asked })).rest();
      expect(JSON.parse((await upstream.seen(index)).body.toString('utf8')).speed).toBe('fast');
      const { debits } = await recorded(gateway);
      const factor = serviceTier === 'priority' ? 2n : 1n;
      expect(debits.at(-1)).toMatchObject({
        lane: serviceTier === 'priority' ? 'fast' : 'standard',
        cost: factor * (1_000n * 3_000_000n + 100n * 15_000_000n),
      });
    }
  });

  it('is taken out of a request for a model that has none, which bills standard prices', async () => {
    upstream.answerWith(json(message({ tokens: { input: 1_000, output: 100 }, serviceTier: 'priority' })));
    const index = upstream.requests.length;
    await (await postMessage(gateway, { body: { speed: 'fast' } })).rest();
    expect(Object.keys(JSON.parse((await upstream.seen(index)).body.toString('utf8')))).not.toContain('speed');
    expect((await recorded(gateway)).debits.at(-1)).toMatchObject({ lane: 'standard' });
  });
});

it('bills a stream and a JSON answer with the same usage the same', async () => {
  upstream.answerWith(stream(lf));
  await (await postMessage(gateway, { stream: true })).rest();
  upstream.answerWith(json(message(content)));
  await (await postMessage(gateway)).rest();
  const { debits } = await recorded(gateway);
  expect(debits.at(-1)?.cost).toBe(debits.at(-2)?.cost);
  expect(debits.at(-1)?.cost).toBe(
    11n * 3_000_000n + 7n * 15_000_000n + 5n * 300_000n + 3n * 3_750_000n + 2n * 6_000_000n,
  );
});
