import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { CallingClient } from '../../../proxy/calling-client.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import { type CountResult, countUpstream } from '../../../proxy/upstream/count-tokens.ts';
import { DecodedAnswer } from '../../../proxy/upstream/decoded-answer.ts';
import type { Upstream, UpstreamReceiver } from '../../../proxy/upstream/upstream.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { inTurns, until } from '../../fixtures/ledger/turns.ts';
import { ClientConnection } from '../forwarding/forwarding-scene.ts';

inTurns();

/** A count that has been asked for, by an upstream that the test drives. */
function asked() {
  const told: string[] = [];
  const receivers: UpstreamReceiver[] = [];
  const upstream: Upstream = {
    name: 'driven',
    onClientDisconnect: 'cancel',
    countsTokens: true,
    keepsThreads: false,
    totalMs: LIMITS.requestTotalMs,
    words: NO_SECRETS,
    waiting: 0,
    send: (_call, receiver) => {
      receivers.push(receiver);
      return () => told.push('left the queue');
    },
    close: async () => undefined,
  };
  const { response } = new ClientConnection();
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] }));
  const facts = factsOf('count', body, null);
  if ('code' in facts) throw new Error(facts.message);
  const count = {
    bytes: new RequestBytes([body]),
    facts,
    owner: { accountId: accountId('acct_1'), hasPaid: true },
    client: new CallingClient(response),
    version: null,
    beta: null,
    trace: null,
  };
  const results: CountResult[] = [];
  void countUpstream({ upstream, model: 'm' }, count).then((result) => results.push(result));
  const [receiver] = receivers;
  if (receiver === undefined) throw new Error('an upstream is asked at once');
  const control = { pause: () => undefined, resume: () => undefined, abort: () => told.push('aborted') };
  return { receiver, control, response, results, told };
}

const MIB = 1024 * 1024;
const IN_TIME = { type: 'failed', error: { kind: 'timeout', message: 'no count in time' } };
const HEAD = { contentType: 'application/json', contentLength: null, contentEncoding: null, requestId: null };

describe('a count', () => {
  it.each([
    ['that has begun to be answered', true],
    ['that still waits for a connection', false],
  ])('is waited for for 30 s and no longer, and what is under way of it ends: one %s', async (_how, hasBegun) => {
    const { receiver, control, results, told } = asked();
    if (hasBegun) {
      receiver.onStart(control);
      receiver.onHead(200, { ...HEAD, retryAfterS: null });
      receiver.onData(Buffer.from('{"input_'));
    }
    await vi.advanceTimersByTimeAsync(29_999);
    expect([results, told]).toEqual([[], []]);
    await vi.advanceTimersByTimeAsync(1);
    expect(results).toEqual([IN_TIME]);
    expect(told).toEqual(['left the queue', ...(hasBegun ? ['aborted'] : [])]);
  });

  it.each([
    ['', (receiver: UpstreamReceiver) => receiver.onData(Buffer.from(' '))],
    [', encoded,', (receiver: UpstreamReceiver) => receiver.onEncoded(1)],
  ])('whose answer comes%s in crumbs is read no further', async (_how, tell) => {
    const { receiver, control, results, told } = asked();
    receiver.onStart(control);
    receiver.onHead(200, { ...HEAD, retryAfterS: null });
    for (let pieces = 0; told.length === 0 && pieces < 100_000; pieces++) tell(receiver);
    await vi.advanceTimersByTimeAsync(0);
    expect(results).toEqual([{ type: 'failed', error: { kind: 'reset', message: 'the count comes in crumbs' } }]);
    expect(told).toEqual(['left the queue', 'aborted']);
  });

  it('whose answer is more than 1 MiB, with what of it came encoded, is read no further', async () => {
    const { receiver, control, results, told } = asked();
    receiver.onStart(control);
    receiver.onHead(200, { ...HEAD, retryAfterS: null });
    receiver.onEncoded(MIB / 2);
    receiver.onData(Buffer.alloc(MIB / 2));
    expect(told).toEqual([]);
    receiver.onEncoded(1);
    await vi.advanceTimersByTimeAsync(0);
    expect(results).toEqual([{ type: 'failed', error: { kind: 'reset', message: 'the count is longer than 1 MiB' } }]);
    expect(told).toEqual(['left the queue', 'aborted']);
  });

  it('that decodes to far more than 1 MiB is kept to that, and not at all once its result stands', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const { receiver, control, results, told } = asked();
    receiver.onStart(control);
    receiver.onHead(200, { ...HEAD, retryAfterS: null });
    const pieces: WeakRef<Buffer>[] = [];
    const kept = (): number => pieces.reduce((bytes, piece) => bytes + (piece.deref()?.length ?? 0), 0);
    let [toldBytes, isEnded] = [0, false];
    const counted: UpstreamReceiver = {
      onStart: () => undefined,
      onHead: () => undefined,
      onEncoded: () => undefined,
      onData: (piece) => {
        pieces.push(new WeakRef(piece));
        toldBytes += piece.length;
        receiver.onData(piece);
      },
      onEnd: () => {
        isEnded = true;
        receiver.onEnd();
      },
      onError: (error) => receiver.onError(error),
    };
    // It does not hear that it is to end: what it has told by then may be more.
    const answer = new DecodedAnswer('gzip', counted, control, { areKnown: false });
    answer.push(gzipSync(`{"input_tokens":7}${' '.repeat(60 * MIB)}`));
    answer.end();
    await until(() => results.length > 0);
    await nextTurn();
    collect();
    expect([toldBytes > MIB, kept() < MIB]).toEqual([true, true]);
    const joined = vi.spyOn(Buffer, 'concat');
    onTestFinished(() => joined.mockRestore());
    await until(() => isEnded);
    expect(joined).not.toHaveBeenCalled();
    await nextTurn();
    collect();
    expect([toldBytes > 60 * MIB, kept()]).toEqual([true, 0]);
    expect(results).toEqual([{ type: 'failed', error: { kind: 'reset', message: 'the count is longer than 1 MiB' } }]);
    expect(told).toEqual(['left the queue', 'aborted']);
  });

  it('that has its connection only when its time is over is never sent', async () => {
    const { receiver, control, results, told } = asked();
    await vi.advanceTimersByTimeAsync(30_000);
    receiver.onStart(control);
    expect([results.length, told.at(-1)]).toEqual([1, 'aborted']);
  });

  it.each([
    ['answered', (receiver: UpstreamReceiver) => receiver.onEnd()],
    ['failed', (receiver: UpstreamReceiver) => receiver.onError({ kind: 'reset', message: 'socket hang up' })],
  ])('that has %s waits for nothing more', async (_how, end) => {
    const { receiver, control, response, results } = asked();
    receiver.onStart(control);
    receiver.onHead(200, { ...HEAD, retryAfterS: null });
    receiver.onData(Buffer.from('{"input_tokens":7}'));
    end(receiver);
    expect(vi.getTimerCount()).toBe(0);
    expect(response.listenerCount('close')).toBe(0);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(results).toHaveLength(1);
    expect(results).not.toContainEqual(IN_TIME);
  });
});
