import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { REFUSED_BODY_BYTES_MAX } from '../../../proxy/forwarding/limits.ts';
import type { UpstreamErrorKind } from '../../../proxy/upstream/upstream.ts';
import { text } from '../../upstream/content.ts';
import { message } from '../../upstream/message.ts';
import { event, streamEvents } from '../../upstream/stream-events.ts';
import { CLIENT_STALL_MS, type ForwardingScene, forwardingScene, JSON_HEAD, STREAM_HEAD } from './forwarding-scene.ts';

/** How a request ends where several ends come together, whichever of them is told first. */
const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const events = streamEvents({ tokens, blocks: [text('one ', 'two')] });
const whole = Buffer.concat(events);
const part = Buffer.concat(events.slice(0, 4));
/** More than a connection takes before it holds back. */
const long = Buffer.concat([part, Buffer.from(`: ${'x'.repeat(200_000)}\n\n`)]);
/** Held back for so long, its client is the cause. */
const FOR_LONG_MS = CLIENT_STALL_MS / 2;
const broken = (kind: UpstreamErrorKind = 'reset') => ({ kind, message: 'socket hang up' });

/** As where no upstream has answered at all: the client may try again. */
const NO_ANSWER = /^HTTP\/1\.1 502 .*"the model did not answer; try again"/s;

/** What was passed on has been written, and what ends durably is. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Its client takes nothing of what has come, for so long. */
async function heldBack(heldMs: number, bytes = long): Promise<ForwardingScene> {
  const scene = forwardingScene();
  scene.upstream.onHead(200, STREAM_HEAD);
  await turn();
  scene.client.holdBack();
  scene.upstream.onData(bytes);
  await turn();
  expect(scene.asked).toEqual(['pause']);
  scene.clock.nowMs += heldMs;
  return scene;
}

describe('a client that leaves', () => {
  it('before its call has a connection has asked for nothing: the call that then has one ends, and says no more', async () => {
    const scene = forwardingScene({ waits: true });
    scene.forwarder.clientLeft();
    expect(scene.underWay()).toBe(0);
    scene.begin();
    expect(scene.asked).toEqual(['abort']);
    scene.upstream.onHead(200, STREAM_HEAD);
    scene.upstream.onData(whole);
    scene.upstream.onEnd();
    await turn();
    expect([scene.usages, scene.finished]).toEqual([[], []]);
  });
});

describe('an upstream that breaks off', () => {
  it('together with the last bytes of the answer has ended it: they are passed on and metered before that', async () => {
    const scene = forwardingScene();
    scene.upstream.onHead(200, STREAM_HEAD);
    scene.upstream.onData(whole);
    scene.upstream.onError(broken());
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
    expect(scene.client.received).toContain('message_stop');
    expect(scene.client.received).not.toContain('event: error');
  });

  it('behind an answer that is complete has ended it, though its client holds that back', async () => {
    const scene = await heldBack(CLIENT_STALL_MS, Buffer.concat([long, ...events.slice(4)]));
    scene.upstream.onError(broken());
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
    scene.client.readOn();
    await turn();
    expect(scene.client.response.writableFinished).toBe(true);
    expect(scene.client.received).toContain('message_stop');
  });

  it('behind a Message that is whole has ended it: its client gets it', async () => {
    const scene = forwardingScene({ isStream: false });
    const body = JSON.stringify(message({ tokens }));
    scene.upstream.onHead(200, JSON_HEAD);
    scene.upstream.onData(Buffer.from(body));
    scene.upstream.onError(broken());
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'completed', source: 'reported', tokens }]);
    expect(scene.client.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(scene.client.received).toContain(body);
  });

  it('in the middle of a Message has given none: its client gets an error, and nothing is charged', async () => {
    const scene = forwardingScene({ isStream: false });
    scene.upstream.onHead(200, JSON_HEAD);
    scene.upstream.onData(Buffer.from(JSON.stringify(message({ tokens })).slice(0, -20)));
    scene.upstream.onError(broken());
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: false }]);
    expect(scene.client.received).toMatch(NO_ANSWER);
  });

  it.each([
    ['while its client holds it back has done so because of that', 0, null, 'reset', true],
    ['once its client has read on has done so by itself', 0, 0, 'reset', false],
    [
      'soon after its client has read on that held it back for long has done so because of that',
      FOR_LONG_MS,
      0,
      'reset',
      true,
    ],
    ['long after that has done so by itself', FOR_LONG_MS, FOR_LONG_MS, 'reset', false],
    [
      'by its total time has done so because its client held it back for long, however long ago',
      FOR_LONG_MS,
      FOR_LONG_MS,
      'overdue',
      true,
    ],
  ] as const)('%s', async (_how, heldMs, readOnMs, kind, billable) => {
    const scene = await heldBack(heldMs);
    if (readOnMs !== null) {
      scene.client.readOn();
      await turn();
      expect(scene.asked).toEqual(['pause', 'resume']);
      scene.clock.nowMs += readOnMs;
    }
    scene.upstream.onError(broken(kind));
    await turn();
    const outcome = billable ? 'client_disconnected' : 'upstream_interrupted';
    expect(scene.usages).toMatchObject([{ outcome, billable }]);
    expect(scene.client.received.includes('event: error')).toBe(!billable);
  });

  it('behind an answer that is too long has failed once: one other deployment is asked, and answers', async () => {
    const scene = forwardingScene({ isStream: false, deployments: 3 });
    scene.upstream.onHead(200, JSON_HEAD);
    scene.upstream.onData(Buffer.alloc(LIMITS.answerBytesMax + 1, ' '));
    scene.upstream.onError(broken());
    expect(scene.upstreams).toHaveLength(2);
    const next = scene.upstreams[1];
    next?.onHead(200, JSON_HEAD);
    next?.onData(Buffer.from(JSON.stringify(message({ tokens }))));
    next?.onEnd();
    await turn();
    expect(scene.client.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(scene.usages).toMatchObject([{ outcome: 'completed' }]);
  });

  it('in the middle of a refusal has refused, and is told as what it is', async () => {
    const scene = forwardingScene();
    scene.upstream.onHead(400, JSON_HEAD);
    scene.upstream.onData(Buffer.from('{"type":"error"'));
    scene.upstream.onError(broken());
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
    expect(scene.client.received).toMatch(NO_ANSWER);
  });

  it('together with a refusal too long to be passed on is answered once', async () => {
    const scene = forwardingScene();
    scene.upstream.onHead(400, JSON_HEAD);
    scene.upstream.onData(Buffer.alloc(REFUSED_BODY_BYTES_MAX + 1, 'x'));
    expect(() => scene.upstream.onError(broken())).not.toThrow();
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
    expect(scene.client.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
  });

  it.each([
    ['within its time', 'timeout', 'client_disconnected'],
    ['within its total time', 'overdue', 'client_disconnected'],
    ['but is reset', 'reset', 'upstream_refused'],
  ] as const)('before its head, not answering %s, ends a call whose client has left', async (_how, kind, outcome) => {
    const billable = outcome === 'client_disconnected';
    const scene = forwardingScene({ onClientDisconnect: 'drain' });
    scene.forwarder.clientLeft();
    expect(scene.usages).toEqual([]);
    scene.upstream.onError(broken(kind));
    expect(scene.usages).toMatchObject([{ outcome, billable, source: 'estimated' }]);
    expect(scene.underWay()).toBe(0);
  });
});

describe('an upstream that says an error in the middle of its answer', () => {
  it('has ended it when the client reads that: in the journal already, should the gateway be killed before the upstream ends', async () => {
    const scene = forwardingScene();
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    scene.upstream.onHead(200, STREAM_HEAD);
    scene.upstream.onData(Buffer.concat([part, event('error', error)]));
    await turn();
    expect(scene.client.received).toContain('event: error');
    expect(scene.finished).toHaveLength(1);
    expect(scene.usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: false }]);
  });
});

describe('the gateway, when it stops', () => {
  it.each([
    ['for long is the cause: it has left', FOR_LONG_MS, 'client_disconnected'],
    ['for a moment is not: the answer breaks off', FOR_LONG_MS - 1, 'upstream_interrupted'],
  ])('cuts an answer, and a client that has held it back %s', async (_how, heldMs, outcome) => {
    const scene = await heldBack(heldMs);
    scene.forwarder.cut();
    expect(scene.usages).toMatchObject([{ outcome, billable: outcome === 'client_disconnected' }]);
    expect(scene.asked).toContain('abort');
    expect(scene.client.response.destroyed).toBe(outcome === 'client_disconnected');
    expect(scene.underWay()).toBe(0);
  });

  it('cuts a call that has no head yet, whoever held back what', async () => {
    const scene = forwardingScene();
    scene.forwarder.cut();
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: false }]);
    expect(scene.client.received).toMatch(/^HTTP\/1\.1 502 .*the gateway is shutting down/s);
  });

  it('cuts a call that waits for a connection: it has asked for nothing, so nothing is recorded of it', async () => {
    const scene = forwardingScene({ waits: true });
    scene.forwarder.cut();
    await turn();
    expect([scene.usages, scene.finished, scene.underWay()]).toEqual([[], [], 0]);
    expect(scene.client.received).toMatch(/^HTTP\/1\.1 502 .*the gateway is shutting down/s);
  });

  it('lets an answer that is complete be complete', async () => {
    const scene = forwardingScene();
    scene.upstream.onHead(200, STREAM_HEAD);
    scene.upstream.onData(whole);
    scene.forwarder.cut();
    await turn();
    expect(scene.usages).toMatchObject([{ outcome: 'completed', tokens }]);
  });
});

describe('an ending that cannot be judged', () => {
  it('is one of which nothing is known but how it came: the request is ended, and the fault is told', () => {
    const scene = forwardingScene({ bytesAtEnd: Buffer.from('{') });
    scene.forwarder.clientLeft();
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
    expect(scene.usages).toMatchObject([{ outcome: 'client_disconnected', source: 'estimated', tokens: none }]);
    expect(scene.finished).toHaveLength(1);
    expect(scene.logLines.filter((line) => line.includes('could not be metered'))).toHaveLength(1);
    expect(scene.underWay()).toBe(0);
  });
});
