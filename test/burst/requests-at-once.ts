import { messageBody, type PostOptions, type PostTarget, postMessage } from '../gateway/post-message.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import type { Upstream } from '../upstream/upstream.ts';

export const REQUESTS = 500;
/** Waits for leases that are not up before a busy machine has done what is waited for. */
export const PATIENT_LEASES = { reclaimMs: 3_000, waitMs: 60_000 };
export const MAX_TOKENS = 1_000;
/** Of TEST_CATALOG's opal-medium, in micro-USD per million tokens. */
export const RATES = { input: 3_000_000n, output: 15_000_000n };
/** What a provider may add (interface, 5.7) to a request's own bytes, in tokens. */
const FRAME_TOKENS = 2_048;

/** The most that one of these requests can cost, in micro-USD, by that statement and nothing of the product. */
export const WORST_MICRO_USD = worstCaseOf({ maxTokens: MAX_TOKENS });

export interface Refused {
  readonly status: number;
  readonly error: { readonly type: string; readonly message: string };
}

/**
 * Sends 500 requests at once, in turn over the gateways, to an upstream that answers nobody before each request is
 * either refused or there. It answers with a tenth of the worst case.
 */
export async function requestsAtOnce(
  gateways: readonly PostTarget[],
  upstream: Upstream,
  options: PostOptions = {},
): Promise<{ readonly reached: number; readonly answered: number; readonly refusals: readonly Refused[] }> {
  const decided = Promise.withResolvers<void>();
  const refusals: Refused[] = [];
  let reached = 0;
  const count = (): void => {
    if (reached + refusals.length === REQUESTS) decided.resolve();
  };
  upstream.answerWith(() => {
    reached++;
    count();
    return [wait(decided.promise), ...json(message({ tokens: { input: 100, output: MAX_TOKENS / 10 } }))];
  });
  const post = async (target: PostTarget): Promise<number> => {
    const answer = await postMessage(target, { ...options, maxTokens: MAX_TOKENS });
    const body = JSON.parse((await answer.rest()).toString('utf8'));
    if (answer.status !== 200) refusals.push({ status: answer.status, error: body.error });
    count();
    return answer.status;
  };
  const targets = Array.from({ length: REQUESTS }, (_, index) => gateways[index % gateways.length]);
  const statuses = await Promise.all(targets.flatMap((target) => (target === undefined ? [] : [post(target)])));
  return { reached, answered: statuses.filter((status) => status === 200).length, refusals };
}

function worstCaseOf(options: PostOptions): bigint {
  const input = BigInt(Buffer.byteLength(messageBody(options)) + FRAME_TOKENS);
  const picoUsd = input * RATES.input + BigInt(options.maxTokens ?? 0) * RATES.output;
  return (picoUsd + 999_999n) / 1_000_000n;
}
