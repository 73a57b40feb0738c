import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { UpstreamErrorKind } from '../upstream/upstream.ts';

/** Statuses that are the caller's matter and are passed on, with their message. */
const PASSED_ON = new Set([400, 404, 413, 422]);
const OVERLOADED = new Set([429, 503, 529]);
const CREDENTIAL = new Set([401, 403]);

const RETRY_AFTER_S = 2;
/** SDKs obey `retry-after` without a cap, so a long one of an upstream is not handed on. */
const RETRY_AFTER_MAX_S = 30;

export const isPassedOn = (status: number): boolean => PASSED_ON.has(status);

export const isGatewaysFault = (status: number): boolean => CREDENTIAL.has(status);

/** What the client is told when no deployment of the model answered, by how the last one failed. */
export function refusalForStatus(status: number, retryAfterS: number | null): Refusal {
  if (OVERLOADED.has(status)) {
    const after = Math.min(Math.max(retryAfterS ?? RETRY_AFTER_S, 1), RETRY_AFTER_MAX_S);
    return refusal('upstream_overloaded', 'the model is overloaded upstream; retry with backoff', after);
  }
  if (CREDENTIAL.has(status))
    return refusal('upstream_refused_gateway', 'the gateway could not reach the model; its operator has been told');
  return refusal('upstream_failed', 'the model did not answer; try again');
}

export const refusalForFailure = (kind: UpstreamErrorKind): Refusal => {
  if (kind === 'descriptors')
    return refusal(
      'gateway_overloaded',
      'the gateway has no file descriptor left for a connection to the model',
      RETRY_AFTER_S,
    );
  return refusal(
    'upstream_failed',
    kind === 'timeout' || kind === 'overdue'
      ? 'the model did not answer in time; try again'
      : 'the model did not answer; try again',
  );
};

/** Of an answer with status 200 that is no Message, or not all of one. */
export const UNREADABLE: Refusal = refusal(
  'upstream_failed',
  'the model gave an answer that cannot be read; try again',
);
