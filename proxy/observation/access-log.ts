import { ERROR_TABLE } from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { formatExactUsd } from '../../contracts/money.ts';
import type { ObservedRequest } from './observed-request.ts';

/** Where the lines go. */
export interface AccessLogPlace {
  /** @param make makes one line of JSON, with its end; it is called once, and later */
  writeLater(make: () => string): void;
  /** How many lines were lost since the start, because what takes them was too slow, or gone. */
  readonly lost: number;
}

/**
 * A line for each request that has ended: who asked for what, how it ended, what it used, cost and took. Nothing in it is
 * the caller's own words, or a provider's but for its request id; no path but that of a route, no model but the catalog's.
 * What is not known of a request is left out.
 *
 * The lines are pino's, `info` of `{ request }`, to the byte, and written here by hand, field by field: pino takes three times as long
 * for one, as long as all else that is noted of a request (`npm run bench -- --only observed`).
 */
export class AccessLog {
  readonly #place: AccessLogPlace;
  readonly #onUntold: (error: unknown, requestId: string) => void;

  /** @param onUntold why a request has no line */
  constructor(place: AccessLogPlace, onUntold: (error: unknown, requestId: string) => void) {
    this.#place = place;
    this.#onUntold = onUntold;
  }

  /** Of a request that has ended: nothing of it changes any more. */
  write(observed: ObservedRequest, status: number, nowMs: number): void {
    const atMs = Date.now();
    this.#place.writeLater(() => {
      try {
        return lineOf(observed, status, nowMs, atMs);
      } catch (error) {
        this.#onUntold(error, observed.requestId);
        return '';
      }
    });
  }

  writeUnreadable(requestId: RequestId): void {
    const { status } = ERROR_TABLE.invalid_request;
    const line = `${begun(requestId, Date.now())},"status":${status},"code":"invalid_request"${END}`;
    this.#place.writeLater(() => line);
  }
}

function lineOf(observed: ObservedRequest, status: number, nowMs: number, atMs: number): string {
  const { route, arrivedMs, firstByteMs, overheadMs, reloadWaitMs, ending, cost, owner } = observed;
  let line = `${begun(observed.requestId, atMs)},"method":${quoted(observed.method)}`;
  if (route !== undefined) line += `,"route":${quoted(route)}`;
  line += `,"status":${status}`;
  if (observed.code !== null) line += `,"code":"${observed.code}"`;
  if (ending !== null) line += `,"outcome":"${ending.outcome}"`;
  if (owner !== null) line += `,"accountId":${quoted(owner.accountId)},"keyId":${quoted(owner.keyId)}`;
  if (observed.model !== null) line += `,"model":${quoted(observed.model)}`;
  if (observed.upstream !== null) line += `,"upstream":${quoted(observed.upstream)}`;
  if (ending !== null) {
    const { upstream, tokens, lane, source } = ending;
    if (upstream.requestId !== null) line += `,"upstreamRequestId":${quoted(upstream.requestId)}`;
    line += `,"inputTokens":${tokens.input},"outputTokens":${tokens.output},"cacheReadTokens":${tokens.cacheRead}`;
    line += `,"cacheWrite5mTokens":${tokens.cacheWrite5m},"cacheWrite1hTokens":${tokens.cacheWrite1h}`;
    line += `,"lane":"${lane}","usage":"${source}"`;
  }
  if (cost !== null) line += `,"costUsd":"${formatExactUsd(cost)}"`;
  if (firstByteMs !== 0) line += `,"firstByteMs":${rounded(firstByteMs - arrivedMs)}`;
  if (reloadWaitMs !== 0) line += `,"reloadWaitMs":${rounded(reloadWaitMs)}`;
  if (overheadMs !== null) line += `,"overheadMs":${rounded(overheadMs)}`;
  return `${line},"durationMs":${rounded(nowMs - arrivedMs)}${END}`;
}

/** The level is pino's `info`. */
const begun = (requestId: string, atMs: number): string =>
  `{"level":30,"time":${atMs},"request":{"requestId":${quoted(requestId)}`;
const END = '}}\n';

/** Text that JSON has as it is. */
const AS_IT_IS = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;
const quoted = (text: string): string => (AS_IT_IS.test(text) ? `"${text}"` : JSON.stringify(text));

/** To a microsecond. */
const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
