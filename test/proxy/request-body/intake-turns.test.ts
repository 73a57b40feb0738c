import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import type { Caller } from '../../../proxy/caller.ts';
import { InFlight } from '../../../proxy/in-flight.ts';
import { RequestObserver } from '../../../proxy/observation/request-observer.ts';
import { BodyBudget } from '../../../proxy/request-body/body-budget.ts';
import { IntakeTurns } from '../../../proxy/request-body/intake-turns.ts';
import { RequestCounts } from '../../../proxy/request-counts.ts';
import { addCallerToRequests } from '../../../proxy/routes/know-caller.ts';
import { bodyOf, leaveBodiesUnread, readBody } from '../../../proxy/routes/read-body.ts';
import { lastBodyOf, sendRaw } from '../../fixtures/gateway/raw-socket.ts';
import { turnsOfBytes } from '../../fixtures/turns-of-bytes.ts';

const MIB = 1024 * 1024;
const CLIENTS = 4;
const BODY_BYTES = 4 * MIB;
/** What comes in a turn, of all together: the chunk that is taken, and what Node reads before it has stopped. */
const OF_A_TURN_BYTES_MAX = 128 * 1024;

it('lets one chunk come in a turn of the loop, of one share after the other', async () => {
  const intake = new IntakeTurns();
  const came: string[] = [];
  const wait = (name: string, hasPaid = true): void =>
    intake.wait({ accountId: accountId(`acct_${name.charAt(0)}`), hasPaid }, () => came.push(name));
  for (const name of ['a1', 'a2', 'a3', 'b1']) wait(name);
  expect(came).toEqual([]);
  const counts: number[] = [];
  while (intake.waiting > 0) {
    await setImmediate();
    counts.push(came.length);
  }
  expect(counts).toEqual([1, 2, 3, 4]);
  expect(came).toEqual(['a1', 'b1', 'a2', 'a3']);
  wait('u1', false);
  wait('u2', false);
  wait('b2');
  wait('b3');
  while (intake.waiting > 0) await setImmediate();
  expect(came.slice(4)).toEqual(['b2', 'u1', 'b3', 'u2']);
  wait('a4');
  await setImmediate();
  expect(came.at(-1)).toBe('a4');
});

it('is how long bodies come, and what they have taken is free as soon as nobody wants it', async () => {
  const bodies = new BodyBudget({ maxBytes: 64 * MIB, maxBytesPerAccount: 64 * MIB });
  const app = Fastify();
  leaveBodiesUnread(app);
  addCallerToRequests(app);
  app.addHook('onRequest', (request, _reply, done) => {
    request.caller = { accountId: accountId('acct_one'), account: { grants: [] as unknown[] } } as Caller;
    done();
  });
  const counts = new RequestCounts();
  const observer = new RequestObserver({
    counts,
    accessLog: null,
    figures: null,
    tracing: null,
    monotonic: () => 0,
  });
  const parts = { bodies, intake: new IntakeTurns(), counts, inFlight: new InFlight(1), observer };
  const buffers: ArrayBufferLike[] = [];
  app.post('/', { preHandler: readBody(parts) }, async (request) => {
    const { bytes } = bodyOf(request);
    await bytes.lend(async (pieces) => {
      buffers.push(...pieces.map(({ buffer }) => buffer));
      return { pieces, value: null };
    });
    return { length: bytes.length };
  });
  const sockets: Socket[] = [];
  app.server.on('connection', (socket) => sockets.push(socket));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const head = `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), Buffer.alloc(BODY_BYTES)]);
  const answers = Promise.all(Array.from({ length: CLIENTS }, () => sendRaw(url, request)));
  const turns = turnsOfBytes(sockets);
  expect((await answers).map(lastBodyOf)).toEqual(Array(CLIENTS).fill(`{"length":${BODY_BYTES}}`));
  const counted = await turns();
  await expect.poll(() => bodies.bytes).toBe(0);
  expect(counted).toBeGreaterThanOrEqual((CLIENTS * BODY_BYTES) / OF_A_TURN_BYTES_MAX);
  expect(buffers.length).toBe(64);
  expect(buffers.filter(({ byteLength }) => byteLength > 0)).toEqual([]);
  await app.close();
});
