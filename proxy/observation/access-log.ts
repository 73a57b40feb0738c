import type { Logger } from 'pino';
import { ERROR_TABLE } from '../../contracts/errors.ts';
import type { RequestId } from '../../contracts/ids.ts';
import { formatExactUsd } from '../../contracts/money.ts';
import type { ObservedRequest } from './observed-request.ts';

/** Where the lines go. */
export interface AccessLogPlace {
  readonly logger: Pick<Logger, 'info'>;
  /** How many lines were lost since the start, because what takes them was too slow, or gone. */
  readonly lost: number;
}

/**
 * A line for each request that has ended: who asked for what, how it ended, what it used, cost and took. Nothing in it is
 * the caller's own words, or a provider's but for its request id; no path but that of a route, no model but the catalog's.
 * What is not known of a request is left out.
 */
export class AccessLog {
  readonly #place: AccessLogPlace;

  constructor(place: AccessLogPlace) {
    this.#place = place;
  }

  write(observed: ObservedRequest, status: number, nowMs: number): void {
    const { request, arrivedMs, firstByteMs, overheadMs, reloadWaitMs, ending, cost } = observed;
    const tokens = ending?.tokens;
    this.#tell({
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url,
      status,
      code: observed.code ?? undefined,
      outcome: ending?.outcome,
      accountId: observed.owner?.accountId,
      keyId: observed.owner?.keyId,
      model: observed.model ?? undefined,
      upstream: observed.upstream ?? undefined,
      upstreamRequestId: ending?.upstream.requestId ?? undefined,
      inputTokens: tokens?.input,
      outputTokens: tokens?.output,
      cacheReadTokens: tokens?.cacheRead,
      cacheWrite5mTokens: tokens?.cacheWrite5m,
      cacheWrite1hTokens: tokens?.cacheWrite1h,
      lane: ending?.lane,
      usage: ending?.source,
      costUsd: cost === null ? undefined : formatExactUsd(cost),
      firstByteMs: firstByteMs === 0 ? undefined : rounded(firstByteMs - arrivedMs),
      reloadWaitMs: reloadWaitMs === 0 ? undefined : rounded(reloadWaitMs),
      overheadMs: overheadMs === null ? undefined : rounded(overheadMs),
      durationMs: rounded(nowMs - arrivedMs),
    });
  }

  writeUnreadable(requestId: RequestId): void {
    this.#tell({ requestId, status: ERROR_TABLE.invalid_request.status, code: 'invalid_request' });
  }

  /** As one value: pino writes its own keys one by one, which costs twice as much. */
  #tell(request: Readonly<Record<string, unknown>>): void {
    this.#place.logger.info({ request });
  }
}

/** To a microsecond. */
const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
