import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { asking, type Callable, call, get } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { openSocket, requestText } from '../fixtures/gateway/raw-socket.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { failure } from '../upstream/answer.ts';
import { instructedAnswer, readInstructions } from '../upstream/instructions.ts';

/** However calls end, with or without their client, none is left under way, waiting, drained or held for. */
const CALLS = 100;
const PATHS = ['/v1/messages', '/v1/messages/count_tokens', '/messages'];
const MODELS = ['opal-medium', 'opal-twice', 'svc-mock', 'opal-gone', 'opal-none'];
const ENDINGS = ['complete', 'no-stop', 'no-usage', 'reset', 'silent', 'error-event', 'reset-before-head'];
const MORE_ENDINGS = ['silent-before-head', 'status-400', 'status-401', 'status-429', 'status-529'];

const { upstream, gateway } = await startOnUpstream(afterAll, {
  // Few places of each sort, so that calls wait for all of them.
  provider: { connections: 4, countConnections: 2, firstByteMs: 400, idleMs: 400 },
  settings: { metrics: { serve: { port: 0 } }, drainMs: 200, drainsMax: 3, drainsMaxPerAccount: 2 },
});
upstream.answerWith((request) => {
  const instructed = readInstructions(request);
  return typeof instructed === 'string' ? failure(400) : instructedAnswer(request.path, instructed);
});
const callers = await Promise.all(
  [1_000_000_000n, 1_000_000_000n, 30_000n, 1n].map((credits) => openAccount(gateway, { credits })),
);

/** One call that ends as chance has it, on a connection of its own; its client stays to the end, or leaves before. */
async function oneCall(random: SeededRandom): Promise<void> {
  const pick = <T>(choices: readonly T[]): T => random.weighted(choices.map((choice) => [choice, 1] as const));
  const caller: Callable = pick(callers);
  const script = { ending: pick([...ENDINGS, ...MORE_ENDINGS]), delayMs: random.whole(0, 40) };
  const long = random.chance(0.3) ? 'x'.repeat(20_000) : 'hello';
  const messages = [{ role: 'user', content: long }];
  const body = asking(pick(MODELS), { messages, stream: random.chance(0.5), metadata: { script } });
  const leavesAfterMs = random.chance(0.5) ? random.whole(0, 300) : null;
  const socket = await openSocket(gateway.url);
  socket.on('error', () => undefined);
  socket.resume();
  const text = random.chance(0.05) ? '{' : JSON.stringify(body);
  socket.write(requestText(caller.key, text).replace('POST /v1/messages ', `POST ${pick(PATHS)} `));
  if (leavesAfterMs !== null) leaveAfter(socket, leavesAfterMs);
  await once(socket, 'close');
}

function leaveAfter(socket: Socket, ms: number): void {
  const timer = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(timer));
}

async function left(): Promise<Record<string, number>> {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  const found = text.matchAll(/^gateway_(calls_under_way\{kind="\w+"\}|calls_waiting|drains|holds) (\d+)$/gm);
  return Object.fromEntries([...found].map(([, name, figure]) => [name, Number(figure)]));
}

it.each([1, 2])('nothing is left of them (seed %i)', async (seed) => {
  const random = new SeededRandom(seed);
  await Promise.all(Array.from({ length: CALLS }, () => oneCall(random)));
  await expect.poll(left).toEqual({
    'calls_under_way{kind="message"}': 0,
    'calls_under_way{kind="stream"}': 0,
    'calls_under_way{kind="count"}': 0,
    calls_waiting: 0,
    drains: 0,
    holds: 0,
  });
  for (const caller of callers) expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
});
