import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Gunzip, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { DecodedAnswer } from '../../../proxy/upstream/decoded-answer.ts';
import { HttpUpstream } from '../../../proxy/upstream/http-upstream.ts';
import { ABORTED, type UpstreamControl } from '../../../proxy/upstream/upstream.ts';
import { inTurns } from '../../fixtures/ledger/turns.ts';
import { forwardingScene, JSON_HEAD, STREAM_HEAD } from '../forwarding/forwarding-scene.ts';
import { decoded, longEnough } from './decoded-answer-scene.ts';

inTurns();

const MIB = 1024 * 1024;
const WHOLE = Buffer.alloc(8 * MIB, ': \n');
const ENCODED = gzipSync(WHOLE);
/** As long as what it encodes. */
const STORED = gzipSync(WHOLE, { level: 0 });
const SHORT = gzipSync(WHOLE.subarray(0, 40_001), { level: 0 });
/** Of what comes encoded, until more decodes it. */
const KEPT_BYTES = 65_536;

/** Of this process, and those of them that have ended. */
const begun: number[] = [];
const ended = vi.spyOn(Gunzip.prototype, 'destroy');
const hook = createHook({
  init: (id, type) => void (type === 'ZLIB' && begun.push(id)),
}).enable();
afterAll(() => {
  hook.disable();
  ended.mockRestore();
});
beforeEach(() => {
  begun.length = 0;
  ended.mockClear();
});

function expectDecodersEnded(): void {
  expect(begun.length).toBeGreaterThan(0);
  expect(new Set(ended.mock.contexts).size).toBe(begun.length);
}

/** No call: all of its answer has come. */
const CALL: UpstreamControl = { pause: () => undefined, resume: () => undefined, abort: () => undefined };

describe('an answer that is being decoded and is ended', () => {
  it.each([
    ['goes on', () => undefined, ['abort']],
    ['has ended', (answer: DecodedAnswer) => answer.end(), []],
    ['has failed', (answer: DecodedAnswer) => answer.fail({ kind: 'reset', message: 'it broke off' }), []],
  ])('tells that and nothing more, where its call %s', async (_how, over, askedAtEnd) => {
    const atEnd = Promise.withResolvers<number>();
    const { answer, got } = decoded((bytes) => {
      if (bytes < MIB) return;
      got.asked.length = 0;
      answer.abort();
      atEnd.resolve(bytes);
    });
    answer.push(ENCODED);
    over(answer);
    const isOver = expect(got.over).rejects.toThrow(ABORTED.message);
    const bytes = await atEnd.promise;
    expectDecodersEnded();
    answer.fail(ABORTED);
    await isOver;
    await longEnough();
    expectDecodersEnded();
    answer.abort();
    expect([got.bytes, got.ends, got.asked]).toEqual([bytes, [ABORTED.message], askedAtEnd]);
  });

  it('tells that also while it is held back, and before anything of it has come', async () => {
    for (const bytes of [ENCODED, Buffer.alloc(0)]) {
      const { answer, got } = decoded();
      answer.pause();
      answer.push(bytes);
      if (bytes.length > 0) answer.end();
      await nextTurn();
      answer.abort();
      await expect(got.over).rejects.toThrow(ABORTED.message);
      answer.resume();
      answer.push(ENCODED);
      await longEnough();
      expect([got.bytes, got.ends]).toEqual([0, [ABORTED.message]]);
    }
    expectDecodersEnded();
  });

  it('begins nothing that decodes it once more: neither for more than is kept', async () => {
    const { answer, got } = decoded((bytes) => {
      if (bytes > KEPT_BYTES) answer.abort();
    });
    answer.push(STORED);
    await expect(got.over).rejects.toThrow(ABORTED.message);
    await nextTurn();
    expectDecodersEnded();
    expect(begun.length).toBe(1);
  });

  it('nor for a fault behind what is told last', async () => {
    const { answer, got } = decoded(() => answer.abort());
    answer.push(SHORT.subarray(0, 20_000));
    answer.pause();
    await longEnough();
    begun.length = 0;
    ended.mockClear();
    answer.push(Buffer.alloc(30_000, 0xff));
    await expect(got.over).rejects.toThrow(ABORTED.message);
    await nextTurn();
    expect([begun.length, new Set(ended.mock.contexts).size]).toEqual([0, 1]);
  });
});

describe('an attempt that is left while its answer is decoded and waits for its turn', () => {
  it.each<[string, 'drain' | 'cancel', (scene: ReturnType<typeof forwardingScene>) => unknown]>([
    ['by its client', 'cancel', ({ forwarder }) => forwarder.clientLeft()],
    [
      'at the end of a drain',
      'drain',
      ({ forwarder }) => {
        forwarder.clientLeft();
        forwarder.cut();
      },
    ],
    ['when the gateway stops', 'cancel', ({ forwarder }) => forwarder.cut()],
    ['when its total time is over', 'cancel', () => vi.advanceTimersByTime(3_600_000)],
  ])('%s ends what decodes it', async (_how, onClientDisconnect, leave) => {
    const scene = forwardingScene({ waits: true, onClientDisconnect });
    const left = Promise.withResolvers<void>();
    const answer: DecodedAnswer = new DecodedAnswer('gzip', scene.upstream, CALL, { areKnown: false });
    scene.upstream.onStart({
      pause: () => {
        answer.pause();
        queueMicrotask(() => {
          leave(scene);
          left.resolve();
        });
      },
      resume: () => answer.resume(),
      abort: () => answer.abort(),
    });
    scene.upstream.onHead(200, STREAM_HEAD);
    answer.push(STORED);
    answer.end();
    await left.promise;
    expectDecodersEnded();
    expect(scene.underWay()).toBe(0);
  });

  it.each([
    ['a refusal that is too long', 400, STREAM_HEAD],
    ['a status that is not passed on', 500, STREAM_HEAD],
    ['an answer that is too long', 200, { ...JSON_HEAD, contentLength: 1e12 }],
  ])('by %s ends it, too', async (_how, status, head) => {
    const scene = forwardingScene({ waits: true });
    const answer = new DecodedAnswer('gzip', scene.upstream, CALL, { areKnown: false });
    const aborted = vi.spyOn(answer, 'abort');
    scene.upstream.onStart(answer);
    scene.upstream.onHead(status, head);
    answer.push(ENCODED);
    answer.end();
    await expect.poll(() => scene.underWay()).toBe(0);
    expect(aborted).toHaveBeenCalled();
    await longEnough();
    expectDecodersEnded();
  });
});

it.each([true, false])('a call is over when it is ended, though all of its answer has come: %s', async (isWhole) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const head = `HTTP/1.1 400 x\r\ncontent-encoding: gzip\r\ncontent-length: ${ENCODED.length}\r\n\r\n`;
    socket.once('data', () =>
      socket.write(Buffer.concat([Buffer.from(head), ENCODED.subarray(0, isWhole ? undefined : -1)])),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const upstream = new HttpUpstream('gzips', {
    protocol: 'messages',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'a key of the tests',
    apiKeyPlace: 'a test',
    auth: 'x-api-key',
    version: '2023-06-01',
    countTokens: true,
    onClientDisconnect: 'drain',
    connections: 1,
    countConnections: 1,
    accountPercent: 100,
    connectMs: 60_000,
    firstByteMs: 60_000,
    idleMs: 60_000,
    totalMs: 60_000,
  });
  onTestFinished(async () => {
    await upstream.close();
    server.close();
  });
  const over = Promise.withResolvers<void>();
  const ends: string[] = [];
  const end = (how: string): void => {
    ends.push(how);
    over.resolve();
  };
  let [bytes, atEnd] = [0, 0];
  let control: UpstreamControl | null = null;
  const owner = { accountId: accountId('acct_1'), hasPaid: true };
  const body = new RequestBytes([Buffer.from('{}')]);
  upstream.send(
    { path: '/v1/messages', body, owner, version: null, beta: null, trace: null },
    {
      onStart: (own) => {
        control = own;
      },
      onHead: () => undefined,
      onEncoded: () => undefined,
      onData: (piece) => {
        bytes += piece.length;
        if (bytes < MIB || atEnd > 0) return;
        atEnd = bytes;
        control?.abort();
      },
      onEnd: () => end('end'),
      onError: ({ kind }) => end(kind),
    },
  );
  await over.promise;
  expect(atEnd).toBeGreaterThan(0);
  expectDecodersEnded();
  await longEnough();
  expect([bytes, ends]).toEqual([atEnd, ['aborted']]);
});
