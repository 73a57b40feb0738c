import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { UpstreamAttempt } from '../../../proxy/forwarding/upstream-attempt.ts';
import { IntakeTurns } from '../../../proxy/request-body/intake-turns.ts';
import { TURN_BYTES, TURN_BYTES_OF_PIECE } from '../../../proxy/request-body/limits.ts';
import { postMessage, recorded } from '../../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { turnsOfBytes } from '../../fixtures/turns-of-bytes.ts';
import { startRawUpstream } from '../../fuzz/raw-upstream.ts';
import { text } from '../../upstream/content.ts';
import { comment, streamEvents } from '../../upstream/stream-events.ts';
import { type ForwardingScene, forwardingScene, STREAM_HEAD } from './forwarding-scene.ts';

const KIB = 1024;
const stored = (bytes: Buffer): Buffer => gzipSync(bytes, { level: 0 });
/** Of a byte each, as Node reads at once of a connection. */
const PIECES_OF_READ = (64 * KIB) / '1\r\nx\r\n'.length;
/** As much as comes of an answer in a turn of the event loop. */
const OF_A_TURN = comment('x'.repeat(64 * KIB));

function begun(options: Parameters<typeof forwardingScene>[0] = {}): ForwardingScene {
  const scene = forwardingScene(options);
  scene.upstream.onHead(200, STREAM_HEAD);
  return scene;
}

describe('an answer that comes fast', () => {
  it('waits for its turn when so much of it has come, and its bytes go out as they came', async () => {
    const scene = begun();
    scene.upstream.onData(OF_A_TURN.subarray(0, 40 * KIB));
    expect(scene.asked).toEqual([]);
    scene.upstream.onData(OF_A_TURN.subarray(40 * KIB));
    expect(scene.asked).toEqual(['pause']);
    await setImmediate();
    expect(scene.asked).toEqual(['pause', 'resume']);
    scene.upstream.onData(OF_A_TURN.subarray(0, 40 * KIB));
    expect(scene.asked).toEqual(['pause', 'resume']);
    scene.upstream.onData(OF_A_TURN.subarray(40 * KIB));
    expect(scene.asked).toEqual(['pause', 'resume', 'pause']);
    await setImmediate();
    expect(scene.client.received.split(OF_A_TURN.toString().trim()).length).toBe(3);
  });

  it('is one of which more comes in a turn, accounts one after the other', async () => {
    const intake = new IntakeTurns();
    const scenes = ['acct_a', 'acct_a', 'acct_a', 'acct_b'].map((account) => begun({ intake, account }));
    for (const { upstream } of scenes) upstream.onData(OF_A_TURN);
    const goingOn: number[][] = [];
    while (intake.waiting > 0) {
      await setImmediate();
      goingOn.push(scenes.flatMap(({ asked }, index) => (asked.at(-1) === 'resume' ? [index] : [])));
    }
    expect(goingOn).toEqual([[0], [0, 3], [0, 1, 3], [0, 1, 2, 3]]);
  });

  it('waits for its turn, too, where many come at once that bring less, but for short ones', async () => {
    const intake = new IntakeTurns();
    const scenes = Array.from({ length: 20 }, () => begun({ intake }));
    const waiting = (): boolean[] => scenes.map(({ asked }) => asked.at(-1) === 'pause');
    const none = scenes.map(() => false);
    for (const { upstream } of scenes) upstream.onData(OF_A_TURN.subarray(0, 16 * KIB - 1));
    expect(waiting()).toEqual(none);
    await setImmediate();
    for (const { upstream } of scenes.slice(0, 15)) upstream.onData(OF_A_TURN.subarray(0, 16 * KIB));
    await setImmediate();
    expect(waiting()).toEqual(none);
    for (const { upstream } of scenes) upstream.onData(OF_A_TURN.subarray(0, 16 * KIB));
    expect(waiting()).toEqual(scenes.map((_scene, index) => index >= 15));
    while (intake.waiting > 0) await setImmediate();
    expect(waiting()).toEqual(none);
  });

  it('is not one of a hundred events at once', async () => {
    const scene = begun();
    const events = streamEvents({ blocks: [text(...Array.from({ length: 100 }, () => 'some words of it '))] });
    for (const event of events) scene.upstream.onData(event);
    await setImmediate();
    expect(scene.asked).toEqual([]);
  });

  it('waits for its turn also where its pieces are short: each counts for so much', async () => {
    const scene = begun();
    const byte = Buffer.from('x');
    const most = TURN_BYTES / TURN_BYTES_OF_PIECE;
    for (let pieces = 1; pieces < most; pieces++) scene.upstream.onData(byte);
    expect(scene.asked).toEqual([]);
    scene.upstream.onData(byte);
    expect(scene.asked).toEqual(['pause']);
    await setImmediate();
    expect(scene.asked).toEqual(['pause', 'resume']);
  });

  it('waits for its turn by what came encoded, too, however little it decodes to', async () => {
    const scene = begun();
    scene.upstream.onEncoded(TURN_BYTES - 1);
    expect(scene.asked).toEqual([]);
    scene.upstream.onEncoded(1);
    expect(scene.asked).toEqual(['pause']);
    await setImmediate();
    expect(scene.asked).toEqual(['pause', 'resume']);
    for (let pieces = 1; pieces < TURN_BYTES / TURN_BYTES_OF_PIECE; pieces++) scene.upstream.onEncoded(1);
    expect(scene.asked).toEqual(['pause', 'resume']);
    scene.upstream.onEncoded(1);
    expect(scene.asked).toEqual(['pause', 'resume', 'pause']);
    await setImmediate();
  });

  it('is not one that comes little by little, however long', async () => {
    const scene = begun();
    for (let turns = 0; turns < 4; turns++) {
      scene.upstream.onData(OF_A_TURN.subarray(0, 63 * KIB));
      await setImmediate();
    }
    expect(scene.asked).toEqual([]);
  });

  it('waits for its turn and for its client, whichever is the later', async () => {
    const scene = begun();
    await setImmediate();
    scene.client.holdBack();
    scene.upstream.onData(OF_A_TURN);
    await setImmediate();
    await setImmediate();
    expect(scene.asked).toEqual(['pause']);
    scene.client.readOn();
    await setImmediate();
    expect(scene.asked).toEqual(['pause', 'resume']);
  });

  it('waits for its turn, too, once its client has left that held it back', async () => {
    const scene = begun({ onClientDisconnect: 'drain' });
    await setImmediate();
    scene.client.holdBack();
    scene.upstream.onData(OF_A_TURN);
    await Promise.resolve();
    scene.forwarder.clientLeft();
    expect(scene.asked).toEqual(['pause']);
    for (let turns = 1; turns < 4; turns++) {
      await setImmediate();
      expect(scene.asked).toEqual(Array.from({ length: turns }, () => ['pause', 'resume']).flat());
      scene.upstream.onData(OF_A_TURN);
    }
  });

  it('that has ended meanwhile does not go on: its connection is another call’s', async () => {
    const scene = begun();
    scene.upstream.onData(OF_A_TURN);
    scene.upstream.onEnd();
    await setImmediate();
    expect(scene.asked).toEqual(['pause']);
  });

  it('that is over is not held back for its client, nor goes on for it', async () => {
    const heldBack = async (): Promise<ForwardingScene> => {
      const scene = begun();
      await setImmediate();
      scene.client.holdBack();
      scene.upstream.onData(OF_A_TURN.subarray(0, 60 * KIB));
      await setImmediate();
      return scene;
    };
    const [ended, brokenOff] = [await heldBack(), await heldBack()];
    for (const { upstream } of [ended, brokenOff]) upstream.onData(OF_A_TURN.subarray(0, 40 * KIB));
    ended.upstream.onEnd();
    await Promise.resolve();
    expect(brokenOff.asked).toEqual(['pause']);
    brokenOff.upstream.onError({ kind: 'reset', message: 'it broke off' });
    for (const { client } of [ended, brokenOff]) client.readOn();
    await setImmediate();
    expect([ended.asked, brokenOff.asked]).toEqual([[], ['pause']]);
  });
});

it.each([
  { as: 'as it is', told: 'onData', header: '', encode: (bytes: Buffer) => bytes },
  { as: 'encoded', told: 'onEncoded', header: 'content-encoding: gzip\r\n', encode: stored },
] as const)(
  'is read in so many pieces a turn of the loop, where a provider sends each byte by itself, $as',
  async (sent) => {
    const { told, header, encode } = sent;
    const answer = Buffer.concat(streamEvents({ blocks: [text('x'.repeat(100 * KIB))] }));
    const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${header}transfer-encoding: chunked\r\n\r\n`;
    const bytes = encode(answer);
    const crumbs = bytes.toString('latin1').replaceAll(/./gs, '1\r\n$&\r\n');
    const upstream = await startRawUpstream(() => Buffer.from(`${head}${crumbs}0\r\n\r\n`, 'latin1'));
    const gateway = await startTestGateway({ upstreamUrl: upstream.url });
    const turns: number[] = [];
    const came = vi.spyOn(UpstreamAttempt.prototype, told);
    const watch = setInterval(() => turns.push(came.mock.calls.length), 0);
    onTestFinished(() => {
      clearInterval(watch);
      came.mockRestore();
    });
    const posted = await postMessage(gateway, { stream: true });
    expect((await posted.rest()).equals(answer)).toBe(true);
    const most = Math.max(...turns.map((pieces, index) => pieces - (turns[index - 1] ?? 0)));
    expect(came.mock.calls.length).toBe(bytes.length);
    expect(most).toBeLessThan(PIECES_OF_READ);
    await gateway.stop();
    await upstream.close();
  },
);

it('is read in so many bytes a turn of the loop, of all answers together, also once clients have left', async () => {
  const answer = Buffer.concat(streamEvents({ blocks: [text(...Array<string>(2_000).fill('x'.repeat(KIB)))] }));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${answer.length}\r\n\r\n`;
  const upstream = await startRawUpstream(() => Buffer.concat([Buffer.from(head), answer]));
  const gateway = await startTestGateway({ upstreamUrl: upstream.url });
  const sockets: Socket[] = [];
  const connected = (told: unknown): void => {
    const { socket } = told as { readonly socket: Socket };
    if (upstream.url.endsWith(`:${socket.remotePort}`)) sockets.push(socket);
  };
  subscribe('undici:client:connected', connected);
  onTestFinished(() => void unsubscribe('undici:client:connected', connected));
  const read = async (): Promise<void> => {
    const posted = await postMessage(gateway, { stream: true });
    expect((await posted.rest()).equals(answer)).toBe(true);
  };
  const leave = async (): Promise<void> => {
    const posted = await postMessage(gateway, { stream: true });
    posted.leave();
  };
  const turns = turnsOfBytes(sockets);
  await Promise.all([read(), leave(), read(), leave(), read(), leave()]);
  await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(6);
  const counted = await turns();
  const { usages } = await recorded(gateway);
  expect(usages.map(({ outcome }) => outcome).sort()).toEqual([
    ...Array<string>(3).fill('client_disconnected'),
    ...Array<string>(3).fill('completed'),
  ]);
  expect(sockets.length).toBe(6);
  expect(counted).toBeGreaterThanOrEqual((6 * answer.length) / (128 * KIB));
  await gateway.stop();
  await upstream.close();
});
