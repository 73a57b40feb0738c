import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { BURST_ANSWER, BURST_EVENTS, JSON_ANSWER } from '../fast-upstream/answers.ts';
import { RequestReader } from '../fast-upstream/request-reader.ts';
import { machineUs, stampText } from '../stamps.ts';
import type { Load } from './load-protocol.ts';
import { LoadRun } from './load-run.ts';

const REQUEST = 'POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}';

/** A server that answers each request so, and the load on it that was asked for. */
async function loaded(answer: Buffer, wanted: Partial<Load>) {
  const arrivals: number[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const reader = new RequestReader();
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      if (reader.push(Buffer.from(bytes)) === null) return;
      arrivals.push(performance.now());
      socket.write(answer);
      server.emit('served', arrivals.length);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  const failures: string[] = [];
  const load: Load = {
    port: address.port,
    requests: [REQUEST],
    connections: 2,
    eventsPerAnswer: 0,
    countsEventsAsTheyCome: false,
    requestsPerS: null,
    ...wanted,
  };
  const run = new LoadRun(load, (reason) => failures.push(reason));
  onTestFinished(() => {
    run.stop();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const served = async (count: number) => {
    while (arrivals.length < count) await once(server, 'served');
  };
  return { run, served, failures, arrivals, sockets };
}

test('counts answers from the mark on', async () => {
  const { run, served } = await loaded(JSON_ANSWER, {});
  await served(50);
  run.mark();
  expect(run.read().requests).toBe(0);
  await served(150);
  const { requests, answer, events } = run.read();
  // Those that were under way at the mark and at the end may be counted or not.
  expect(Math.abs(requests - 100)).toBeLessThanOrEqual(8);
  expect(answer.p50Us).toBeGreaterThan(0);
  expect(events).toBe(0);
});

test.each([true, false])('counts each event once (as they come: %s)', async (countsEventsAsTheyCome) => {
  const { run, served } = await loaded(BURST_ANSWER, { eventsPerAnswer: BURST_EVENTS, countsEventsAsTheyCome });
  await served(40);
  run.stop();
  const { requests, events } = run.read();
  expect(requests).toBeGreaterThan(30);
  expect(events).toBe(requests * BURST_EVENTS);
});

test('keeps to a rate', async () => {
  const { served, arrivals } = await loaded(JSON_ANSWER, { requestsPerS: 500, connections: 8 });
  await served(100);
  const seconds = ((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)) / 1000;
  expect(seconds).toBeGreaterThan(0.15);
});

test.each([true, false])(
  'times events that say when they were sent, where it is asked to (%s)',
  async (readsStamps) => {
    const body = `data: "${stampText(machineUs() - 5_000)}"\n\n`;
    const answer = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    const { run, served } = await loaded(answer, { readsStamps });
    await served(10);
    run.stop();
    const { p50Us } = run.read().delay;
    if (readsStamps) expect(p50Us).toBeGreaterThanOrEqual(5_000);
    else expect(p50Us).toBeNaN();
  },
);

test('connections begin spread over the time that is given', async () => {
  const startMs = performance.now();
  const { arrivals, served } = await loaded(Buffer.from(' '), { connections: 4, spreadMs: 80 });
  await served(4);
  // A timer is never early, but for the part of a millisecond that it rounds off.
  for (const [index, ms] of arrivals.entries()) expect(ms - startMs).toBeGreaterThanOrEqual(index * 20 - 1);
});

test('tells a failure once a connection, and closes it', async () => {
  const { failures, served, sockets } = await loaded(Buffer.from('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'), {});
  await served(2);
  await expect.poll(() => failures).toHaveLength(2);
  expect(failures[0]).toContain('500 No');
  await expect.poll(() => [...sockets].map(({ destroyed }) => destroyed)).toEqual([true, true]);
  expect(failures).toHaveLength(2);
});
