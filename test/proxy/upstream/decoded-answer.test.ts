import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { constants, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { type PostedMessage, postMessage, recorded } from '../../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { type Answer, end, head, reset, type Step, silence, wait, write } from '../../upstream/answer.ts';
import { text } from '../../upstream/content.ts';
import { message } from '../../upstream/message.ts';
import { byteByByte, cutAt, oneChunk } from '../../upstream/rechunk.ts';
import { streamEvents } from '../../upstream/stream-events.ts';
import { ENCODERS, faultyEnds, flipped } from './decoded-answer-scene.ts';

/** What an upstream encodes though it was asked not to is decoded, metered, and reaches the client as it was before. */
const { upstream, gateway } = await startOnUpstream(afterAll);

const MIB = 1024 * 1024;
const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const whole = JSON.stringify(message({ tokens, blocks: [text('Grüße, 世界 '.repeat(5_000))] }));
const events = streamEvents({ tokens, blocks: [text('one ', 'two ', 'three ', 'four')] });

const headOf = (encoding: string | string[], more: object = {}, status = 200): Step =>
  // Node's types know one line of it alone.
  head(status, { 'content-type': 'application/json', ['content-encoding' as string]: encoding, ...more });
const encodedJson = (bytes: Buffer, encoding: string, status = 200): Answer => [
  headOf(encoding, { 'content-length': bytes.length }, status),
  write(bytes),
  end,
];
const streamHead = (encoding: string): Step => headOf(encoding, { 'content-type': 'text/event-stream' });
const lastUsage = async () => (await recorded(gateway)).usages.at(-1);

const encodings: readonly (readonly [string, (text: string) => Buffer])[] = [
  ['gzip', gzipSync],
  ['GZip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
];

describe('an answer that came encoded', () => {
  it.each(encodings)('by %s is decoded: whole, and byte by byte', async (encoding, encode) => {
    const bytes = encode(whole);
    for (const answer of [encodedJson(bytes, encoding), [headOf(encoding), ...byteByByte([bytes]).map(write), end]]) {
      upstream.answerWith(answer);
      const got = await postMessage(gateway);
      expect([got.status, got.headers['content-encoding']]).toEqual([200, undefined]);
      expect(String(await got.rest())).toBe(whole);
      expect(await lastUsage()).toMatchObject({ outcome: 'completed', source: 'reported', tokens });
    }
  });

  it.each(['Identity', '', 'none', ['identity', 'identity']])('by %j is as it is', async (encoding) => {
    upstream.answerWith([headOf(encoding), write(Buffer.from(whole)), end]);
    const got = await postMessage(gateway);
    expect([got.status, String(await got.rest())]).toEqual([200, whole]);
    expect(await lastUsage()).toMatchObject({ outcome: 'completed', source: 'reported', tokens });
  });

  it.each([[['identity', 'gzip']], ['gzip, identity']])('by %j is decoded once', async (encoding) => {
    upstream.answerWith([headOf(encoding), write(gzipSync(whole)), end]);
    const got = await postMessage(gateway);
    expect([got.status, String(await got.rest())]).toEqual([200, whole]);
  });

  it('twice, by two lines of its head, is refused before a byte of it goes out', async () => {
    upstream.answerWith([headOf(['gzip', 'gzip']), write(gzipSync(gzipSync(whole))), end]);
    expect((await postMessage(gateway)).status).toBe(502);
    expect(await lastUsage()).toMatchObject({ outcome: 'upstream_refused', billable: false });
  });

  it('as a stream holds no byte back: each event that is flushed is with the client before the next is sent', async () => {
    const gzip = createGzip();
    const pieces: Buffer[] = [];
    gzip.on('data', (piece: Buffer) => pieces.push(piece));
    const flushed: Buffer[] = [];
    for (const event of events) {
      gzip.write(event);
      await new Promise<void>((resolve) => gzip.flush(constants.Z_SYNC_FLUSH, () => setImmediate(resolve)));
      flushed.push(Buffer.concat(pieces.splice(0)));
    }
    const gates = events.map(() => Promise.withResolvers<void>());
    const steps = flushed.flatMap((bytes, index) => [write(bytes), wait(gates[index]?.promise ?? Promise.resolve())]);
    gzip.end();
    await new Promise((resolve) => gzip.once('end', resolve));
    upstream.answerWith([streamHead('gzip'), ...steps, write(Buffer.concat(pieces)), end]);
    const answer = await postMessage(gateway, { stream: true });
    for (const [place, bytes] of events.entries()) {
      let got = Buffer.alloc(0);
      while (got.length < bytes.length) got = Buffer.concat([got, (await answer.next()) ?? Buffer.alloc(bytes.length)]);
      expect(got.equals(bytes)).toBe(true);
      gates[place]?.resolve();
    }
    expect(await answer.next()).toBeNull();
    expect(await lastUsage()).toMatchObject({ outcome: 'completed', tokens });
  });

  it("with an error is the upstream's message in our envelope", async () => {
    const said = { type: 'error', error: { type: 'invalid_request_error', message: 'messages.0: no such thing' } };
    upstream.answerWith(encodedJson(gzipSync(JSON.stringify(said)), 'gzip', 400));
    const answer = await postMessage(gateway);
    expect(answer.status).toBe(400);
    expect(JSON.parse(String(await answer.rest()))).toMatchObject({ error: said.error });
  });

  it('with a count is a count', async () => {
    upstream.answerWith(encodedJson(gzipSync('{"input_tokens":123}'), 'gzip'));
    const answer = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'x-api-key': gateway.key },
      body: JSON.stringify({ model: 'opal-medium', messages: [{ role: 'user', content: 'hello' }] }),
    });
    expect(await answer.json()).toEqual({ input_tokens: 123 });
  });
});

describe('an answer whose encoding is broken', () => {
  const gzipped = gzipSync(whole);
  const bomb = gzipSync(`{"type":"message","usage":{"input_tokens":1,"output_tokens":1}${' '.repeat(65 * MIB)}}`);
  it.each<[string, Answer]>([
    ['is none', encodedJson(Buffer.from(whole), 'gzip')],
    ['ends early', encodedJson(gzipped.subarray(0, -20), 'gzip')],
    ['ends early, as deflate', encodedJson(deflateSync(whole).subarray(0, -20), 'deflate')],
    ['is damaged', encodedJson(Buffer.concat([gzipped.subarray(0, 60), Buffer.alloc(99, 1)]), 'gzip')],
    ['is of nothing', encodedJson(Buffer.alloc(0), 'gzip')],
    ['breaks off', [headOf('gzip'), write(gzipped.subarray(0, 60)), reset]],
    ['decodes to more than there may be', [headOf('gzip'), write(bomb), silence]],
  ])('is a 502 where it %s', async (_how, answer) => {
    upstream.answerWith(answer);
    const got = await postMessage(gateway);
    expect(got.status).toBe(502);
    expect(JSON.parse(String(await got.rest()))).toMatchObject({ error: { type: 'api_error' } });
    expect(await lastUsage()).toMatchObject({ billable: false });
  });

  const beginning = events.slice(0, 5);
  const isInterrupted = async (answer: PostedMessage): Promise<void> => {
    const { body, isCut } = await answer.restOrCut();
    expect(isCut).toBe(true);
    expect(body.subarray(0, Buffer.concat(beginning).length).equals(Buffer.concat(beginning))).toBe(true);
    expect(String(body.subarray(-300))).toMatch(/event: error\ndata: .*"api_error".*\n\n$/);
    expect(await lastUsage()).toMatchObject({ outcome: 'upstream_interrupted', billable: false });
  };
  const part = gzipSync(Buffer.concat(beginning), { finishFlush: constants.Z_SYNC_FLUSH });
  it.each<[string, Answer]>([
    ['ends early', [streamHead('gzip'), write(part), end]],
    ['is damaged', [streamHead('gzip'), write(part), write(Buffer.alloc(99, 0xff)), silence]],
    ['breaks off', [streamHead('gzip'), write(part), reset]],
    [
      'decodes to more than there may be',
      [streamHead('gzip'), write(gzipSync(Buffer.concat([...beginning, Buffer.alloc(65 * MIB, ': \n')]))), silence],
    ],
    [
      'decodes to nothing from then on',
      [streamHead('gzip'), write(part), write(Buffer.alloc(MIB, Buffer.from('000000ffff', 'hex'))), silence],
    ],
  ])('is a stream that broke off where it %s', async (_how, answer) => {
    upstream.answerWith(answer);
    await isInterrupted(await postMessage(gateway, { stream: true }));
  });

  it('is passed on as far as it came where its connection breaks before all of that is decoded', async () => {
    const came = Buffer.concat([...beginning, Buffer.alloc(4 * MIB, ': \n')]);
    upstream.answerWith([streamHead('gzip'), write(gzipSync(came, { finishFlush: constants.Z_SYNC_FLUSH })), reset]);
    const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect([isCut, body.subarray(0, came.length).equals(came)]).toEqual([true, true]);
  });
});

describe('an answer whose encoding has a fault behind all that it encodes', () => {
  const [gzip] = ENCODERS;
  const contents = [
    { type: 'text/event-stream', content: Buffer.concat(events) },
    { type: 'application/json', content: Buffer.from(whole) },
  ];
  const faulty = contents.flatMap(({ type, content }) =>
    faultyEnds(content, gzip).map(([how, bytes]) => ({ type, content, how, bytes })),
  );
  it.each(faulty)('is got whole and billed: $type with $how, in one packet and in two', async (answer) => {
    const { type, content, bytes } = answer;
    for (const packets of [oneChunk([bytes]), cutAt([bytes], [bytes.length - 9])]) {
      upstream.answerWith([headOf('gzip', { 'content-type': type }), ...packets.map(write), end]);
      const got = await postMessage(gateway, { stream: type === 'text/event-stream' });
      const { body, isCut } = await got.restOrCut();
      expect([isCut, body.equals(content)]).toEqual([false, true]);
      expect(await lastUsage()).toMatchObject({ outcome: 'completed', source: 'reported', billable: true, tokens });
    }
  });

  it('has what is long decoded once more, of its provider alone, whichever call of it', async () => {
    const sound = gzipSync(randomBytes(300_000), { level: 0 });
    const other = await startOnUpstream(onTestFinished);
    let begun = 0;
    const hook = createHook({ init: (_id, type) => void (type === 'ZLIB' && begun++) }).enable();
    onTestFinished(() => void hook.disable());
    const begunFor = async (on: typeof other, bytes: Buffer): Promise<number> => {
      on.upstream.answerWith([headOf('gzip'), write(bytes), end]);
      begun = 0;
      await (await postMessage(on.gateway)).rest();
      return begun;
    };
    await begunFor({ upstream, gateway }, flipped(sound, sound.length - 8));
    expect(await begunFor({ upstream, gateway }, sound)).toBe(3);
    expect(await begunFor(other, sound)).toBe(2);
  });
});
