import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { type FuzzCase, type FuzzKind, fuzzCase, goodAnswer } from './fuzz-cases.ts';
import { judge } from './judge.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';

interface FuzzOptions {
  readonly seed: number;
  readonly casesMax: number;
  /** No case begins after so long. */
  readonly msMax: number;
}

interface FuzzReport {
  readonly cases: Readonly<Record<FuzzKind, number>>;
  /** How many answers were of each status; 0 where there was none. */
  readonly faults: readonly { readonly seed: number; readonly kind: FuzzKind; readonly fault: string }[];
}

/** Cases under way at once. */
const LANES = 16;
const FAULTS_MAX = 10;
/** After what may never be answered, such as half a request, nothing more is waited for. */
const SILENT_MS = 100;
/** Whatever has its framing whole is answered within this, on any machine. */
const ANSWER_MS_MAX = 60_000;
const CASES_BETWEEN_CHECKS = 64;

/**
 * Sends requests with faults in their framing or body, and lets the upstream answer with faults, each by a seed of its own:
 * that of the run and the number of the case, so that a case can be run again alone. The gateway runs in this process.
 */
export async function fuzzRun({ seed, casesMax, msMax }: FuzzOptions): Promise<FuzzReport> {
  const upstream = await startRawUpstream(goodAnswerTo);
  const gateway = await startTestGateway({
    upstreamUrl: upstream.url,
    creditsMicroUsd: 1_000_000_000_000_000n,
    settings: { connections: { perAddress: 10_000 } },
  });
  const cases: Record<FuzzKind, number> = { framing: 0, body: 0, answer: 0 };
  const faults: FuzzReport['faults'][number][] = [];
  const giveUpAt = performance.now() + msMax;
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < casesMax && performance.now() < giveUpAt && faults.length < FAULTS_MAX) {
      const caseSeed = (seed + next++) >>> 0;
      const one = fuzzCase(new SeededRandom(caseSeed), gateway.key);
      const fault = await play(one, `case-${caseSeed}-`, { gateway, upstream });
      cases[one.kind]++;
      if (fault !== null) faults.push({ seed: caseSeed, kind: one.kind, fault });
      if (next % CASES_BETWEEN_CHECKS === 0) await checkServing(gateway);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await checkServing(gateway);
  await nothingHeld(gateway);
  // That nothing of them is left is checked where it ends.
  await gateway.stop();
  await upstream.close();
  return { cases, faults };
}

interface Site {
  readonly gateway: TestGateway;
  readonly upstream: RawUpstream;
}

async function play(one: FuzzCase, word: string, { gateway, upstream }: Site): Promise<string | null> {
  // So that the upstream knows of which case a request is.
  const request =
    one.kind === 'answer'
      ? Buffer.from(one.request.toString('latin1').replace('someone', word), 'latin1')
      : one.request;
  if (one.kind === 'answer') upstream.answerTo(word, one.answer);
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const pieces: Buffer[] = [];
  // What is refused may be closed under its sender.
  socket.on('error', () => undefined);
  // `once` would reject on that.
  const closed = new Promise<true>((resolve) => socket.once('close', () => resolve(true)));
  socket.on('data', (piece) => pieces.push(piece));
  socket.write(request);
  // Ended with the case: a timer that is left keeps the process.
  const waiting = new AbortController();
  const givenUp = setTimeout(one.isFramingWhole ? ANSWER_MS_MAX : SILENT_MS, false, { signal: waiting.signal });
  const isClosed = await Promise.race([closed, givenUp.catch(() => false)]);
  waiting.abort();
  socket.destroy();
  await closed;
  if (!isClosed && one.isFramingWhole) return 'no answer';
  return judge(one, Buffer.concat(pieces));
}

/** @throws Error where a plain request is not served, or the gateway does not call itself healthy */
async function checkServing(gateway: TestGateway): Promise<void> {
  const answer = await postMessage(gateway, {});
  await answer.rest();
  const health = await fetch(`${gateway.url}/healthz`);
  await health.arrayBuffer();
  if (answer.status !== 200 || health.status !== 200)
    throw new Error(`a plain request was answered ${answer.status}, /healthz ${health.status}`);
}

/** @throws Error where credit stays held for requests that have ended */
async function nothingHeld(gateway: TestGateway): Promise<void> {
  const giveUpAt = performance.now() + ANSWER_MS_MAX;
  for (;;) {
    const answer = await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': gateway.key } });
    const { held_credits: held } = (await answer.json()) as { held_credits: number };
    if (held === 0) return;
    if (performance.now() > giveUpAt) throw new Error(`${held} credits stay held`);
    await setTimeout(20);
  }
}

/** Of the kind that it asks for: what the gateway sends on is JSON. */
function goodAnswerTo(request: string): Buffer {
  const { stream } = JSON.parse(request.slice(request.indexOf('\r\n\r\n')));
  return goodAnswer(stream === true).bytes;
}
