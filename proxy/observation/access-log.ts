import { ERROR_TABLE } from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { formatExactUsd } from '../../contracts/money.ts';
import type { ObservedRequest } from './observed-request.ts';

/** Where the lines go. */
export interface AccessLogPlace {
  /** @param line one of JSON, with its end */
  write(line: string): void;
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

  constructor(place: AccessLogPlace) {
    this.#place = place;
  }

  write(observed: ObservedRequest, status: number, nowMs: number): void {
    const { request, arrivedMs, firstByteMs, overheadMs, reloadWaitMs, ending, cost, owner } = observed;
    const route = request.routeOptions.url;
    let line = `${begun(request.id)},"method":${quoted(request.method)}`;
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
    this.#place.write(`${line},"durationMs":${rounded(nowMs - arrivedMs)}${END}`);
  }

  writeUnreadable(requestId: RequestId): void {
    const { status } = ERROR_TABLE.invalid_request;
    this.#place.write(`${begun(requestId)},"status":${status},"code":"invalid_request"${END}`);
  }
}

/** The level is pino's `info`. */
const begun = (requestId: string): string =>
  `{"level":30,"time":${Date.now()},"request":{"requestId":${quoted(requestId)}`;
const END = '}}\n';

/** Text that JSON has as it is. */
const AS_IT_IS = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;
const quoted = (text: string): string => (AS_IT_IS.test(text) ? `"${text}"` : JSON.stringify(text));

/** To a microsecond. */
const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
